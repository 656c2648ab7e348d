#!/usr/bin/env bash
# Prepares FOLDER to compile for 64-bit Arm on another Debian machine: Debian's libraries for arm64 and a cross file for Meson.
# Needs no root: apt keeps a state of its own there. Needs Debian's libboost-dev and g++-aarch64-linux-gnu, with --clang also clang.
#
#   cross/aarch64.sh FOLDER [--clang]
#   meson setup --cross-file FOLDER/cross.ini build-arm && ninja -C build-arm
set -euo pipefail
compiler="'aarch64-linux-gnu-g++'"
case "$#${2+ }${2-}" in
  1) ;;
  '2 --clang') compiler="'clang++', '--target=aarch64-linux-gnu'" ;;
  *) echo "usage: $0 FOLDER [--clang]" >&2; exit 2 ;;
esac
[ -e /usr/include/boost ] || { echo "$0: there is no /usr/include/boost: install libboost-dev" >&2; exit 2; }
mkdir -p "$1"
folder=$(realpath "$1")
root=$folder/root
if [ ! -e "$root/usr/include/protozero" ]; then
  mkdir -p "$folder"/apt/lists/partial "$folder"/apt/cache/archives/partial "$folder"/packages "$root"
  touch "$folder/apt/status"
  apt=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User= -o Dir::State="$folder/apt" -o Dir::State::status="$folder/apt/status"
    -o Dir::Cache="$folder/apt/cache")
  apt-get "${apt[@]}" update
  with_version() { apt-cache "${apt[@]}" depends "$1" | sed -n "s/^ *Depends: \($2\)$/\1/p"; }
  (cd "$folder/packages" && apt-get "${apt[@]}" download libfmt-dev "$(with_version libfmt-dev 'libfmt[0-9]*')" libtomlplusplus-dev \
    zlib1g-dev "$(with_version libboost-program-options-dev 'libboost-program-options[0-9.]*-dev')" nlohmann-json3-dev libprotozero-dev doctest-dev)
  for package in "$folder"/packages/*.deb; do dpkg -x "$package" "$root"; done
  # Libraries are linked statically, but fmt, of which Debian has a shared one only.
  find "$root" -name '*.so' ! -name libfmt.so -delete
  ln -sfn /usr/include/boost "$root/usr/include/boost"  # headers, the same for every processor
fi
if command -v ccache >/dev/null; then compiler="'ccache', $compiler"; fi
cat >"$folder/cross.ini" <<END
[binaries]
cpp = [$compiler]
ar = 'aarch64-linux-gnu-ar'
nm = 'aarch64-linux-gnu-nm'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu']

[built-in options]
cpp_args = ['-isystem$root/usr/include', '-Wno-psabi']
cpp_link_args = ['-L$root/usr/lib/aarch64-linux-gnu', '-Wl,-rpath,$root/usr/lib/aarch64-linux-gnu']

[properties]
sys_root = '$root'
pkg_config_libdir = ['$root/usr/lib/aarch64-linux-gnu/pkgconfig', '$root/usr/share/pkgconfig']
boost_includedir = '$root/usr/include'
boost_librarydir = '$root/usr/lib/aarch64-linux-gnu'

[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'armv8-a'
endian = 'little'
END
