#!/usr/bin/env bash
# Makes a package in dist/: package.sh deb|wheel|wrap|docker (./run package calls it, once what it needs is installed).
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "$0")")/.."
of_project() { sed -n "s/.*$1[:=] *'\([^']*\)'.*/\1/p" meson.build | head -1; }
version=$(of_project ' version') date=$(of_project 'release_date ')
mkdir -p dist
case $* in
  deb)
    [ -f build-deb/build.ninja ] || meson setup build-deb --prefix=/usr -Dcuda=disabled -Dmpi=disabled -Dgzip=enabled \
      -Dcpp_link_args=-Wl,-z,relro,-z,now
    ninja -C build-deb
    rm -rf build-deb/installed
    meson install -C build-deb --no-rebuild --quiet --destdir "$PWD/build-deb/installed"
    packaging/debian/make_packages.sh "$PWD/build-deb/installed" "$version" "$date" "$PWD/dist"
    ls dist/*_"$version"_*.deb ;;
  wheel)
    python3 -m pip wheel --no-deps --quiet --config-settings=build-dir=build-wheel --wheel-dir dist .
    ls dist/unroll-"$version"-*.whl
    echo "for $(python3 --version), and systems with $(getconf GNU_LIBC_VERSION) or newer" ;;
  wrap)
    archive=unroll-$version.tar.xz
    git archive --prefix="unroll-$version/" HEAD | xz >"dist/$archive"
    sed "s/@version@/$version/; s/@hash@/$(sha256sum "dist/$archive" | cut -d' ' -f1)/" packaging/unroll.wrap.in >dist/unroll.wrap
    ls "dist/$archive" dist/unroll.wrap ;;
  docker) git archive HEAD | docker build -t "unroll:$version" -t unroll -f packaging/Dockerfile - ;;
  *) echo "./run package wants one of deb, wheel, wrap, docker" >&2; exit 2 ;;
esac
