"""Answers that the programs gave once, kept as text. A difference is not wrong by itself: somebody looks at it, and if it is meant, records
it anew with --record, so that a commit shows what it changes for people."""
import os
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
# float32 on other processors, after some dozens of steps: 2^-23 of each sum, grown a thousandfold; and the last digit may be
# rounded the other way.
RELATIVE = 2**-23 * 1000


def last_place(number: str) -> float:
    """The value of a number's last digit: 0.01 of 3.14."""
    digits = number.split("e")[0].partition(".")[2]
    exponent = int(number.split("e")[1]) if "e" in number else 0
    return 10.0 ** (exponent - len(digits))


def same(one: str, other: str) -> bool:
    if NUMBER.split(one) != NUMBER.split(other):
        return False
    for a, b in zip(NUMBER.findall(one), NUMBER.findall(other)):
        if a == b:
            continue
        near = RELATIVE * max(abs(float(a)), abs(float(b))) + max(last_place(a), last_place(b)) * 1.001
        is_count = "." not in a + b and abs(float(a)) < 10_000
        if is_count or abs(float(a) - float(b)) > near:
            return False
    return True


# An answer must not depend on who asks: only these variables reach a program. UNROLL_ISA chooses kernels.
KEPT = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UNROLL_ISA")


def environment(**more: str) -> dict[str, str]:
    return {key: os.environ[key] for key in KEPT if key in os.environ} | {"CUDA_VISIBLE_DEVICES": "-1", "TZ": "UTC"} | more


def check(name: str, blocks: dict[str, str]) -> bool:
    """Compares the answers, by what was asked, with those in NAME.txt, and prints the differences."""
    path = FOLDER / f"{name}.txt"
    if "--record" in sys.argv:
        path.write_text("\n".join(f"$ {asked}\n{answer}" for asked, answer in blocks.items()))
        return True
    recorded = dict(block.split("\n", 1) for block in path.read_text()[2:].split("\n$ "))
    wrong = []
    for asked in sorted(recorded.keys() | blocks.keys()):
        was, now = recorded.get(asked, "").rstrip("\n").split("\n"), blocks.get(asked, "").rstrip("\n").split("\n")
        if len(was) == len(now) and all(map(same, was, now)):
            continue
        lines = [f"  - {a}\n  + {b}" for a, b in zip(was, now) if not same(a, b)]
        lines += [f"  - {a}" for a in was[len(now):]] + [f"  + {b}" for b in now[len(was):]]
        wrong.append(f"$ {asked}\n" + "\n".join(lines))
    if wrong:
        print("\n".join(wrong))
        print(f"\n{len(wrong)} of {len(blocks)} answers are not those in tests/recorded/{name}.txt (-). If they are meant: {sys.argv[0]} PTB TIMESERIES --record")
    return not wrong
