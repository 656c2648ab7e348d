"""What a command says and leaves in files, as lines to compare."""
import base64
import json
import math
import pathlib
import re
import shlex
import struct
import subprocess
import zlib

import compare

CLOCK = re.compile(r"^(speed|memory|engine|folder| +packed weights|model   \S+\.safetensors| +(fp32|bf16) on| +\d.* of \d+ settings|.* ETA ).*\n"
                   r"|(  +\S+ (words|values|windows|rows|letters|characters)/s)? +\d+:\d\d(?=\n|  relative)|, (in|made in) \d+(\.\d)? s\b|(?<=B) +\d+\.\d\d(?=  )|\d+(?= rounds in which)"
                   r"|(?<=the decoder's gradient\n)  together .*\n|(?<= tokens), \d+\.\d+ s$|(?<= values), \d+\.\d+ s$|(?<=B)( +\d+ %)+$|(?<=its products in )\S+|(?<=html  )[\d.]+ MB", re.M)


def plain(text: str) -> str:
    """Without what the clock and the processor decide."""
    text = re.sub("there is no NVIDIA driver|this build has no CUDA|no CUDA-capable device is detected", "there is no GPU", text)
    text = text.replace("; of large ones each number is the sum of three in bfloat16, which is as exact", "")  # with AMX
    return re.sub(r"(?<=the kernels for )\w+", "this processor", CLOCK.sub("", text))


def figure(value: float, size: float) -> str:
    """Digits down to a thousandth or so of the size, since rounding of other processors is relative to that."""
    if abs(value) <= size / 10_000:
        return "0"
    return f"{value:.{math.floor(math.log10(abs(value))) - math.floor(math.log10(size)) + 4}e}" if isinstance(value, float) else str(value)


def summary(value: object, path: str = "") -> list[str]:
    """A page's numbers: of each array their count, their sum and that of their absolute values."""
    if isinstance(value, dict) and isinstance(value.get("scale"), str):  # of 8 or 16 bits, each row with its scale; one more or less is rounding
        raw, scales = (base64.b64decode(value[key]) for key in ("data", "scale"))
        whole = [abs(of) for of in struct.unpack(f"<{value['size']}{'b' if len(raw) == value['size'] else 'h'}", raw)]
        centre = sum(k * of for k, of in enumerate(whole, 1)) / sum(whole)
        return [f"{path}: {value['name']}, {len(raw)} bytes, of absolute numbers {sum(whole):#.3g}, these at {centre:#.3g} on average",
                *summary(list(struct.unpack(f"<{len(scales) // 4}f", scales)), path + ".scale")]
    if isinstance(value, dict) and isinstance(value.get("data"), str):  # of 16 bits with their unit, or float32
        raw = base64.b64decode(value["data"])
        units = value["largest"] / 32767 if "largest" in value else 1
        value = [units * of for of in struct.unpack(f"<{len(raw) // 2}h" if "largest" in value else f"<{len(raw) // 4}f", raw)]
    if path.endswith(".operations"):
        return [f"{path}: " + " ".join(of["name"] for of in value)]
    if isinstance(value, dict):
        return [line for key, of in sorted(value.items()) for line in summary(of, f"{path}.{key}")]
    if isinstance(value, list) and value and all(isinstance(v, (int, float)) for v in value):
        size, largest = sum(map(abs, value)), max(map(abs, value))
        centre = sum(k * abs(v) for k, v in enumerate(value, 1)) / (size or 1)
        return [f"{path}: {len(value)} numbers, sum {figure(sum(value), size)}, of absolute ones {size:#.5g}, these at {centre:#.5g} on average, last {figure(value[-1], largest)}"]
    if isinstance(value, list) and not any(isinstance(v, (dict, list)) for v in value):
        return [f"{path}: " + ", ".join(f"{of:.4g}" if isinstance(of, float) else str(of)[:200] for of in value)]
    if isinstance(value, list):
        return [line for k, of in enumerate(value) for line in summary(of, f"{path}[{k}]")]
    return [f"{path}: {value:.5g}" if isinstance(value, float) else f"{path}: {str(value)[:200]}"]


def shortened(text: str) -> str:
    """Of a long table its first and last lines and every tenth between, and of all others the words' checksum and the sum of all numbers."""
    lines = text.splitlines()
    if len(lines) <= 100:
        return text
    middle = "\n".join(lines[6:-4])
    total = sum(float(number) for number in re.findall(r"(?<=[ ,])-?\d+\.\d+", middle))
    words = zlib.crc32(compare.NUMBER.sub("#", middle).encode())
    return "\n".join([*lines[:6], *lines[6:-4:10], f"({len(lines) - 10} lines, words {words:08x}, numbers with a point sum to {total:#.6g})", *lines[-4:]]) + "\n"


def drawing(text: str) -> list[str]:
    """A chart's words, and the numbers of its shapes by kind."""
    shapes: dict[str, list[float]] = {}
    for kind, attributes in re.findall(r"<(rect|line|circle|path|polygon|polyline)\b([^>]*)>", text):
        values = re.findall(r'(?<= )(?:x|y|x1|y1|x2|y2|cx|cy|r|width|height|d|points)="([^"]*)"', attributes)
        shapes.setdefault(kind, []).extend(float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", " ".join(values)))
    words = re.findall(r"<(?:text|title|desc)\b[^>]*>([^<]*)<", text)
    return ["words: " + " | ".join(words), *(line for kind, numbers in shapes.items() for line in summary(numbers, kind))]


def header(text: str) -> list[str]:
    """Of a C header the functions, and the numbers of its tables."""
    tables = re.findall(r"^static const \w+ (\w+)\[[^=]*= \{([^}]*)\}", text, re.M)
    numbers = [(name, [float(of) for of in re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", values)]) for name, values in tables]
    return [text[:text.find("*/")], *re.findall(r"^M?\w*STEP\w* void .*(?= \{)", text, re.M), *(line for name, of in numbers for line in summary(of, name))]


def tensors(raw: bytes) -> list[str]:
    """Of a file of weights the tensors' names, shapes and numbers, without what belongs to the training."""
    size, = struct.unpack("<Q", raw[:8])
    lines = []
    for name, of in sorted(json.loads(raw[8:8 + size]).items()):
        if name.startswith("training/") or name == "__metadata__":
            continue
        begin, end = (8 + size + at for at in of["data_offsets"])
        values = struct.unpack(f"<{(end - begin) // 4}f", raw[begin:end]) if of["dtype"] == "F32" else ()
        lines += [f"{name} {of['dtype']} {of['shape']}", *summary(list(values), name)]
    return lines


def written(path: pathlib.Path) -> str:
    """What a command left in a file."""
    if path.suffix == ".html":
        models = re.findall(r'<script type="application/json" class="model">(.*?)</script>', path.read_text(), re.S)
        lines = [line for model in models for line in summary(json.loads(model))]
    elif path.suffix == ".safetensors":
        lines = tensors(path.read_bytes())
    elif path.suffix == ".onnx":
        found = re.finditer(rb"\x22([\x03-\x20])([A-Z][A-Za-z]+)", path.read_bytes())  # a node's field 4: the name of its operation
        lines = ["operations " + " ".join(of[2][:of[1][0]].decode() for of in found if of[1][0] <= len(of[2]))]
    else:
        text = path.read_text()
        lines = drawing(text) if path.suffix == ".svg" else header(text) if path.suffix == ".h" else shortened(text).splitlines()
    return f"{path.name}:\n" * (path.suffix != ".html") + "".join(line + "\n" for line in lines)


def answer(program: str, command: str, folder: pathlib.Path) -> str:
    """What a command says and writes; after '<' stands the file that it reads from standard input."""
    command, _, given = command.partition(" < ")
    files = [folder / name for name in re.findall(r"--(?:out|plot) (\S+\.\w+)", command)]
    for path in files:
        path.unlink(missing_ok=True)
    done = subprocess.run([program, *shlex.split(command)], capture_output=True, text=True, cwd=folder, env=compare.environment(),
                          input=(folder / given).read_text() if given else "")
    text = f"exit code {done.returncode}\n" * (done.returncode != 0) + shortened(plain(done.stdout)) + plain(done.stderr)
    text = text.replace(str(folder) + "/", "").replace(program, "PROGRAM")
    if command.startswith("anomalies"):  # without the errors: small differences of large numbers
        text = re.sub(r"^((?:[^,\n]*,){6})[^,\n]*,", r"\1", text, flags=re.M)
    if "--json" in command and not done.returncode:
        found = json.loads(done.stdout)
        text = "\n".join(line for line in summary(found) if not re.search(r"second|memory|path|file", line.split(":")[0])) + "\n"
    if "--profile" in command:
        text = "\n".join(sorted(re.sub(r"-*#[-#kMG]*", "#", compare.NUMBER.sub("#", re.sub(" +", " ", line))) for line in text.splitlines())) + "\n"
    text += "".join(written(path) for path in files if path.exists())
    return text.replace(str(folder) + "/", "").replace(program, "PROGRAM")
