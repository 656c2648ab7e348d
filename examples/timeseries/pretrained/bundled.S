/* The pretrained forecaster that ships with the program, as it lies in the file FORECASTER. */
        .section .rodata
        .global unroll_forecaster, unroll_forecaster_end
        .balign 8
unroll_forecaster:
        .incbin FORECASTER
unroll_forecaster_end:
        .byte 0
        .section .note.GNU-stack, "", %progbits
