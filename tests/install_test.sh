#!/usr/bin/env bash
# Installs into an empty folder, then does what docs/library.md tells a stranger to do: builds a program with a compiler
# and pkg-config alone, in a folder that knows nothing of this one. The compiler need not be the library's own.
set -euo pipefail
source=$PWD build=$1 compiler=$2 flags=$3
command -v "$compiler" >/dev/null || { echo "skipped: there is no $compiler"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "$*"; exit 1; }

meson install -C "$build" --no-rebuild --quiet --destdir "$folder/root"
pc=$(find "$folder/root" -name unroll.pc)
prefix=$(dirname "$(find "$folder/root" -type d -name include)")
sed -i "s|^prefix=.*|prefix=$prefix|" "${pc%/*}"/unroll*.pc      # the one line that knows nothing of --destdir
export PKG_CONFIG_PATH=${pc%/*}

# Every header of a room is there; its folders (the kernels) are its own affair. Of other packages they show fmt alone.
wanted=$(cd "$source" && tests/installed_headers.sh)
installed=$(cd "$prefix/include/unroll" && find . -name '*.h' -printf '%P\n' | sort)
[ "$installed" = "$wanted" ] || { diff <(echo "$installed") <(echo "$wanted") || true
  fail "headers: < is installed, > in the rooms; 'meson setup --reconfigure' looks again"; }
foreign=$(grep -rE '#include <[a-z0-9_]+[./]' "$prefix/include/unroll" | grep -vE '<(fmt/|(std[a-z]+|math|string)\.h>)' || true)
[ -z "$foreign" ] || fail "installed headers include what unroll.pc does not require: $foreign"
[ -s "$(find "$prefix" -path '*/licenses/unroll/LICENSE')" ] || fail "no licence"

# Installing compiles what is installed, and nothing of tests, fuzzers, benches and examples of one screen.
# It is configured for a GPU whose runtime library lies where the linker looks, in no folder of a toolkit; nothing is compiled.
mkdir -p "$folder"/toolkit/{bin,include,other}
touch "$folder"/toolkit/include/{cublas_v2,cudnn}.h
printf '#!/bin/sh\n' >"$folder/toolkit/bin/nvcc"
chmod +x "$folder/toolkit/bin/nvcc"
ar cr "$folder/toolkit/other/libcudart_static.a"
LIBRARY_PATH=$folder/toolkit/other meson setup --buildtype=release -Dcuda=enabled -Dgpu_toolkit="$folder/toolkit" -Dgpu_arch=90 "$folder/plain" "$source" \
  >"$folder/output" || { cat "$folder/output"; fail "cannot be configured"; }
grep -q '"cudart_static;dl;rt"' "$folder/plain/unroll-config.cmake" || fail "what CMake links for a GPU: $(grep rt "$folder/plain/unroll-config.cmake")"
needless=$(ninja -C "$folder/plain" -t commands all | grep -oE -- '-c [^ ]*(tests|fuzz|bench|lessons)/[^ ]*|-c [^ ]*examples/[a-z_0-9]+\.(cpp|p/)[^ ]*' || true)
[ -z "$needless" ] || fail "compiled for installing, and not installed: $needless"
[ -s "$(find "$prefix" -path '*/doc/unroll/docs/library.md')" ] || fail "no documents"
documents=$(find "$prefix" -type d -path '*/doc/unroll')
while IFS=: read -r page link; do
  [ -e "$(dirname "$page")/$link" ] || fail "${page#"$documents"/} links to $link, which is not installed (meson.build)"
done < <(grep -roE '\]\([^()# ]+[)#]' "$documents/docs" --include='*.md' | sed 's/](//; s/[)#]$//' | grep -v ':http')
for example in "$source"/examples/*.cpp; do
  [ -s "$(find "$prefix" -path "*/doc/unroll/examples/${example##*/}")" ] || fail "no ${example##*/} among the documents"
done

cd "$folder"
cp "$source/examples/first_model.cpp" .
includes=()
for header in $installed; do includes+=(-include "$header"); done     # that they all can be read, in any program (alone: headers_test.sh)
# shellcheck disable=SC2046,SC2086 # flags are words
"$compiler" -std=c++20 -Wall -Wextra -Wshadow -Wsign-conversion -Werror $flags "${includes[@]}" $(pkg-config --cflags unroll) -c first_model.cpp
# shellcheck disable=SC2046,SC2086
"$compiler" $flags first_model.o $(pkg-config --libs unroll) -o first_model
# And with all of the library, whatever of it a program may use.
# shellcheck disable=SC2046,SC2086
"$compiler" $flags first_model.o -Wl,--whole-archive "$(find "$prefix" -name libunroll.a)" -Wl,--no-whole-archive \
  $(pkg-config --libs unroll) -o with_all
./first_model >output || { cat output; fail "the tutorial built outside does not learn"; }
# Layers that are declared before their set: the compiler may use that members begin to live in their order.
cat >layers_first.cpp <<'END'
#include <cstdio>
#include "unroll.h"
struct Model {
  unroll::Dense out{params / "out", {.in = 2, .out = 2}};
  unroll::ParameterSet params;
};
int main() try {
  { Model model; }
  return 1;
} catch (const unroll::Error& error) { return std::puts(error.what()) < 0; }
END
# shellcheck disable=SC2046,SC2086
"$compiler" -std=c++20 -O2 $flags layers_first.cpp $(pkg-config --cflags --libs unroll) -o layers_first
./layers_first | grep -q "'out': the ParameterSet does not live yet" || fail "layers that are declared before their set"
# The core in double, with the gradient check.
# shellcheck disable=SC2046,SC2086
"$compiler" -std=c++20 -Wall -Wextra -Werror $flags $(pkg-config --cflags unroll-double) -c "$source/examples/own_operation.cpp"
# shellcheck disable=SC2046,SC2086
"$compiler" $flags own_operation.o $(pkg-config --libs unroll-double) -o own_operation
./own_operation >output || { cat output; fail "the gradient check built outside does not tell right from wrong"; }
# Weights that a program in float wrote are read by the same program in double, and back again.
cat >weights.cpp <<'END'
#include <cstdio>
#include <string>
#include "unroll.h"
int main(int, char** words) {
  using namespace unroll;
  ParameterSet params;
  Dense out{params / "out", {.in = 2, .out = 1}};
  if (std::string(words[1]) == "write") {
    for (real& x : params.find("out.weight")->leaf_value().on_host(Access::overwrite)) x = real(0.1);
    write_safetensors(words[2], state_dict(params));
  } else {
    load_state_dict(SafetensorsFile(words[2]), params);
  }
  std::printf("%.12f\n", static_cast<double>(params.find("out.weight")->leaf_value().to_host()[1]));
}
END
for precision in "" -double; do
  # shellcheck disable=SC2046,SC2086
  "$compiler" -std=c++20 -O2 $flags weights.cpp $(pkg-config --cflags --libs unroll$precision) -o weights$precision
done
./weights write in_float >output && ./weights-double read in_float >>output
./weights-double write in_double >>output && ./weights read in_double >>output
[ "$(tr '\n' ' ' <output)" = "0.100000001490 0.100000001490 0.100000000000 0.100000001490 " ] ||
  { cat output; fail "weights in files, between float and double"; }
# A source that was compiled for the other precision does not link, and the linker says why.
# shellcheck disable=SC2046,SC2086
if "$compiler" $flags own_operation.o $(pkg-config --libs unroll) -o mixed 2>output; then fail "a source in double links with the library in float"; fi
grep -q compiled_for_double_but_linked_with_the_library_in_float output || { cat output; fail "the linker does not say why"; }
# shellcheck disable=SC2046,SC2086
if "$compiler" $flags first_model.o $(pkg-config --libs unroll-double) -o mixed 2>output; then fail "a source in float links with the library in double"; fi
grep -q compiled_for_float_but_linked_with_the_library_in_double output || { cat output; fail "the linker does not say why"; }

# The library of inference needs no other, and reads weights in files.
# shellcheck disable=SC2046,SC2086
"$compiler" -std=c++20 -O2 $flags "$source/tests/export/inference_program.cpp" $(pkg-config --cflags --libs unroll-inference) \
  -Wl,--gc-sections -o inference
if ./inference in_float 1 >output 2>&1; then fail "a step without its weights"; fi
grep -q "there is no 'lstm.bias_ih_l0' \[64\]" output || { cat output; fail "the library of inference does not name a missing weight"; }
# CMake finds the same, and refuses it where another version is wanted.
if command -v cmake >/dev/null; then
  mkdir -p with_cmake
  cat >with_cmake/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(model CXX)
find_package(unroll ${WANTED} REQUIRED)
add_executable(weights ../weights.cpp)
target_link_libraries(weights unroll::unroll)
add_executable(weights-double ../weights.cpp)
target_link_libraries(weights-double unroll::double)
END
  with_cmake() { cmake -S with_cmake -B "with_cmake/$1" -DWANTED="$2" -DCMAKE_PREFIX_PATH="${3-$prefix}" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CXX_FLAGS="$flags" >output 2>&1; }
  with_cmake build 0.2 && cmake --build with_cmake/build >output 2>&1 || { cat output; fail "CMake does not build with it"; }
  [ "$(with_cmake/build/weights read in_float)" = 0.100000001490 ] || fail "what CMake built reads other weights"
  [ "$(with_cmake/build/weights-double read in_double)" = 0.100000000000 ] || fail "what CMake built in double reads other weights"
  if with_cmake other 0.1; then fail "CMake takes version 0.1 for the one that it finds"; fi
  # Found through a link, as /lib is one where /usr is merged. What is beside the link is not ours.
  mkdir merged
  ln -s "$prefix"/lib* merged/
  with_cmake through_link 0.2 "$PWD/merged" || { cat output; fail "CMake does not find it through a link"; }
  grep -q "^unroll_DIR:PATH=$PWD/merged/" with_cmake/through_link/CMakeCache.txt || fail "CMake did not go through the link"
else
  echo "no cmake here: its package was not tried"
fi

[ "$("$prefix/bin/ptb" --version)" = "ptb $(pkg-config --modversion unroll)" ] || fail "versions differ"
"$prefix/bin/ptb" help --man | cmp - "$(find "$prefix" -path '*/man1/ptb.1')"
"$prefix/bin/ptb" help --completion bash | cmp - "$(find "$prefix" -path '*/bash-completion/completions/ptb.bash')"
