/* Steps through a model by its C header: reads samples from standard input, a number a line, and prints what the model makes
   of each. amp.h is of a model with one input and one output (docs/export.md):

     cc -O2 step_in_c.c -o step_in_c -lm && printf '0.5\n-0.5\n' | ./step_in_c */
#include <stdio.h>

#include "amp.h"

int main(void) {
  static amp_state state; /* all memory that the model needs from step to step */
  amp_reset(&state);
  float x, y;
  while (scanf("%f", &x) == 1) {
    amp_step(&state, &x, &y);
    printf("%.7f\n", (double)y);
  }
  return 0;
}
