#!/usr/bin/env bash
# Makes a fresh Debian machine ready: Debian packages, .venv, locked Python packages, this project.
# Usage: deployments/setup.sh demo|test|benchmark|field|fleet|image
set -euo pipefail
cd "$(dirname "$0")/.."

for_demo=(xvfb openbox fonts-dejavu-core python3-tk tigervnc-scraping-server novnc libx11-6 libxcb1 libxcb-shm0 libxcb-randr0 libxcb-xfixes0 libglib2.0-0)
for_test=(chromium freerdp2-x11 tigervnc-viewer xrdp xorgxrdp xserver-xorg-core bubblewrap dbus-bin dovecot-imapd openssl xdotool x11-utils x11-xserver-utils xterm tigervnc-standalone-server fonts-noto-cjk procps postgresql
  dbus at-spi2-core libatk-wrapper-java-jni libgail-common libatk-adaptor python3-gi gir1.2-gtk-3.0 gir1.2-gtk-4.0 claws-mail mousepad thunar libreoffice-calc libreoffice-writer libreoffice-gtk3 libegl1 libfontconfig1 libxkbcommon-x11-0 libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-render-util0 libxcb-shape0)
for_fleet=(postgresql redis-server bubblewrap procps)
for_benchmark=(chromium dbus at-spi2-core xterm libreoffice-calc libreoffice-writer libreoffice-gtk3 mousepad thunar claws-mail)
# Programs that others wrote. PyPI's come from deployments/field.lock, and npm's from deployments/field.
for_field=(chromium dbus at-spi2-core xdotool homebank gnumeric sqlitebrowser mc xterm)
for_field+=(libreoffice-calc libreoffice-gtk3 claws-mail grisbi)
for_field+=(libreoffice-base libreoffice-sdbc-hsqldb libreoffice-writer default-jre)
for_field+=(jabref libatk-wrapper-java-jni x11-utils gnome-text-editor calibre firefox-esr tryton-client)
# A Node.js of another make brings its npm along, and excludes Debian's.
command -v npm >/dev/null || for_field+=(nodejs npm)
# What builds the container image and walls it in; nothing of Python's is needed for that.
for_image=(bubblewrap buildah mmdebstrap python3-pip)
case "${1:?demo, test, benchmark, field, fleet or image}" in
  demo) packages=("${for_demo[@]}") ;;
  test) packages=("${for_demo[@]}" "${for_test[@]}" "${for_fleet[@]}") ;;
  benchmark) packages=("${for_demo[@]}" "${for_benchmark[@]}") ;;
  field) packages=("${for_demo[@]}" "${for_field[@]}") ;;
  fleet) packages=("${for_demo[@]}" "${for_fleet[@]}") ;;
  image) packages=("${for_image[@]}") ;;
  *) echo "setup: give demo, test, benchmark, field, fleet or image" >&2; exit 2 ;;
esac

say() { printf 'setup: %s\n' "$*" >&2; }

fits() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null; }
with_venv() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }

# Debian's own comes first: its packages for Tk and GTK are made for it, and it is optimized more than what pyenv builds.
python=${PYTHON:-python3}
if [[ ! ${PYTHON:-} ]] && fits /usr/bin/python3 && { ((EUID == 0)) || with_venv /usr/bin/python3; }; then
  python=/usr/bin/python3
fi
command -v "$python" >/dev/null || { say "python3 is missing: apt-get install python3 python3-venv"; exit 2; }
fits "$python" || { say "Python 3.11, 3.12 or 3.13 is needed; name one with PYTHON=..."; exit 2; }
with_venv "$python" || packages+=(python3-venv)

from_debian() {
  apt-get update
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@"
}
debian=
begin_debian() {
  log=$(mktemp)
  (set -e; from_debian "$@") >"$log" 2>&1 &
  debian=$!
}
finish_debian() {
  local job=$debian
  [[ $job ]] || return 0
  debian=
  ! kill -0 "$job" 2>/dev/null || say "waiting until Debian's packages are installed"
  wait "$job" || { tail -n 20 "$log" >&2; say "apt-get failed; see above"; exit 1; }
  rm -f "$log"
}
trap finish_debian EXIT

missing=()
if command -v dpkg-query >/dev/null; then
  for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
else
  say "this is not a Debian system; it needs what Debian calls: ${packages[*]}"
fi
if ((${#missing[@]})); then
  if ((EUID == 0)); then
    say "installing Debian packages: ${missing[*]}"
    # What installs Python's packages comes first, so that those come while all others of Debian's do.
    first=()
    for package in "${missing[@]}"; do [[ $package != python3-@(venv|pip) ]] || first+=("$package"); done
    ((${#first[@]} == 0)) || { begin_debian "${first[@]}"; finish_debian; }
    begin_debian "${missing[@]}"
  else
    say "these Debian packages are missing; as root run: apt-get install ${missing[*]}"
    exit 2
  fi
fi
[[ $1 != image ]] || exit 0  # what is being installed is waited for

stamp=.venv/.installed
wanted=$(cat requirements.lock pyproject.toml | sha256sum | cut -d' ' -f1)
if [[ ! -f $stamp || $(<"$stamp") != "$wanted" ]]; then
  [[ -x .venv/bin/python ]] || "$python" -m venv .venv
  say "installing locked Python packages into .venv"
  # uv installs the same locked files several times as fast; pip does where uv cannot. What is not compiled now is
  # compiled at every start of every process where Python is told not to write what it compiles.
  if .venv/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
      -r <(awk '/^uv==/{on=1} /^[a-z]/&&!/^uv==/{on=0} on' requirements.lock) 2>/dev/null &&
    .venv/bin/uv pip install --quiet --compile-bytecode --python .venv/bin/python --require-hashes -r requirements.lock 2>/dev/null; then :; else
    .venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
  fi
  .venv/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
  echo "$wanted" >"$stamp"
fi
# The field suite's web programs run in an environment of their own, as any user's would.
if [[ $1 == field ]]; then
  [[ -x .venv-field/bin/python ]] || "$python" -m venv .venv-field
  .venv-field/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r deployments/field.lock
  if [[ ! -d .venv-field/web/node_modules ]] || ! cmp -s {deployments/field,.venv-field/web}/package-lock.json; then
    mkdir -p .venv-field/web
    cp deployments/field/package.json deployments/field/package-lock.json .venv-field/web
    npm ci --prefix .venv-field/web --ignore-scripts --no-audit --no-fund --loglevel error >/dev/null
  fi
fi
# Of this package its pages are used, and nothing that it would bring with it (a browser's driver, a gymnasium).
.venv/bin/python -c 'import importlib.metadata as m; m.version("miniwob")' 2>/dev/null ||
  .venv/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r deployments/miniwob.lock ||
  say "MiniWoB++ is left out: its package cannot be fetched"
.venv/bin/python -m compileall -q holo_tasks blocks flows tests || say "this folder cannot be written: starts take longer"
