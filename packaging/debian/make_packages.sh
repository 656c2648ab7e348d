#!/usr/bin/env bash
# Makes two Debian packages of what is installed below a folder: unroll has the programs and pages, libunroll-dev the library.
#   make_packages.sh INSTALLED VERSION DATE INTO
set -euo pipefail
installed=$1 version=$2 date=$3 into=$4
here=$(cd -- "$(dirname -- "$0")" && pwd)
architecture=$(dpkg --print-architecture)
maintainer="${DEBFULLNAME:-the authors of unroll} <${DEBEMAIL:-nobody@unroll.invalid}>"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

stage=$work/debian      # where dpkg-shlibdeps looks for packages
mkdir -p "$stage"/{unroll,libunroll-dev}/{usr,DEBIAN}
cp -a "$installed/usr/include" "$installed/usr/lib" "$stage/libunroll-dev/usr"
cp -a "$installed/usr/bin" "$installed/usr/share" "$stage/unroll/usr"
rm -r "$stage/unroll/usr/share/licenses"      # Debian's own copy, which the file `copyright` names
gzip -9n "$stage"/unroll/usr/share/man/man1/*.1
strip --strip-unneeded --remove-section=.comment --remove-section=.note "$stage"/unroll/usr/bin/*
strip --strip-debug --enable-deterministic-archives --remove-section=.comment "$stage"/libunroll-dev/usr/lib/*/*.a

# Which versions of which libraries the programs want. It reads a source package's control, of which it needs no more.
printf 'Source: unroll\n\nPackage: unroll\nArchitecture: any\n' >"$stage/control"
libraries=$(cd "$work" && dpkg-shlibdeps -O debian/unroll/usr/bin/* | sed 's/^shlibs:Depends=//')

for package in unroll libunroll-dev; do
  root=$stage/$package
  documents=$root/usr/share/doc/$package
  mkdir -p "$documents"
  { cat "$here/copyright"
    # The licences of the libraries whose headers are compiled in.
    for library in libprotozero-dev libtomlplusplus-dev nlohmann-json3-dev; do
      printf '\nComment: the copyright file of %s, which is compiled in:\n' "$library"
      sed 's/^[[:space:]]*$/./; s/^/ /' "/usr/share/doc/$library/copyright"
    done; } >"$documents/copyright"
  printf 'unroll (%s) unstable; urgency=medium\n\n  * Version %s.\n\n -- %s  %s\n' "$version" "$version" "$maintainer" \
    "$(date -u -R -d "$date")" | gzip -9n >"$documents/changelog.gz"
  find "$root" -type d -exec chmod 755 {} +
  find "$root" -type f -not -path '*/bin/*' -exec chmod 644 {} +
  (cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
  { printf 'Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' "$package" "$version" "$architecture" "$maintainer"
    [ $package = unroll ] || echo 'Source: unroll'
    printf 'Installed-Size: %s\n' "$(du -sk "$root/usr" | cut -f1)"
    sed "s/@libraries@/$libraries/" "$here/control.$package"; } >"$root/DEBIAN/control"
  dpkg-deb --root-owner-group -Zxz --build "$root" "$into/${package}_${version}_$architecture.deb" >/dev/null
done
