#!/usr/bin/env bash
# Builds the container image where there is no engine, by Debian's buildah, and tries it. As root; `make image` runs it.
# Usage: [BASE=IMAGE] [PROGRAMS="PACKAGE …"] [STARTS=N] [SAVE=FILE.tar] deployments/image.sh
#   BASE      the image to begin with; without it mmdebstrap makes one of this machine's own Debian sources
#   PROGRAMS  Debian packages of the programs that agents are to use
#   STARTS    how many desktops each trial starts one after the other (10)
#   SAVE      where to leave the image, for `docker load` (nowhere: it is tried and thrown away)
set -euo pipefail
cd "$(dirname "$0")/.."
readonly release=bookworm name=prefect-holo most_bytes=1200000000
# What holds only while the image is built: this machine's configuration of apt and pip, at this place inside.
readonly inside=/run/build

say() { printf 'image: %s\n' "$*"; }
fail() { say "$*" >&2; exit 1; }

deployments/setup.sh image
((EUID == 0)) || fail "only root can build the image here, for the build changes its root; or use docker build -f Containerfile ."

work=$(mktemp -d /var/tmp/prefect-holo-image.XXXXXX)
export BUILDAH_ISOLATION=chroot TMPDIR=$work/tmp
mkdir "$work/tmp" "$work/host"
clean_up() {
  buildah_ umount --all >/dev/null 2>&1 || true
  # What a command that failed has left mounted, the innermost first.
  while read -r place; do umount "$place" || true; done < <(cut -d' ' -f2 /proc/self/mounts | grep -F "$work/" | tac)
  rm -rf --one-file-system "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

buildah_() { buildah --root "$work/storage" --runroot "$work/run" "$@"; }

# ---- this machine's apt and pip, for the build alone: nothing of it gets into the image

volumes=(--volume "$work/host:$inside/host:ro")
arguments=()
sources=()

apt_of_this_machine() {
  # Only its own release: another one's packages would not fit.
  grep -qs "^VERSION_CODENAME=$release$" /etc/os-release || return 0
  mkdir "$work/host/sources" "$work/host/netrc"
  cp /etc/apt/sources.list "$work/host/sources/own.list" 2>/dev/null || true
  cp /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources "$work/host/sources/" 2>/dev/null || true
  cp /etc/apt/auth.conf.d/*.conf "$work/host/netrc/" 2>/dev/null || true
  # Options of fetching: proxies, certificates, what a mirror needs.
  apt-config dump | grep -E '^Acquire::(https?|Retries|Check-|ForceIPv)' >"$work/host/fetching.conf" || true
  cp "$work/host/fetching.conf" "$work/host/apt.conf"
  cat >>"$work/host/apt.conf" <<END
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$inside/host/sources";
Dir::Etc::netrcparts "$inside/host/netrc";
END
  [[ ! -f /etc/ssl/certs/ca-certificates.crt ]] ||
    echo "Acquire::https::CaInfo \"$inside/host/certificates.crt\";" >>"$work/host/apt.conf"
  sources=("$work"/host/sources/*)
  arguments+=(--build-arg "APT_CONFIG=$inside/host/apt.conf")
}

pip_of_this_machine() {
  # Folders that an index or packages are in are seen by the build, too; their places inside are told to its pip.
  local settings folder
  settings=$(python3 deployments/pip_settings.py "$inside" "$work/host/pip.conf") || fail "pip's settings cannot be read"
  while IFS=$'\t' read -r folder place; do
    [[ -z $folder ]] || volumes+=(--volume "$folder:$place:ro")
  done <<<"$settings"
  arguments+=(--build-arg "PIP_CONFIG_FILE=$inside/host/pip.conf")
}

[[ ! -f /etc/ssl/certs/ca-certificates.crt ]] || cp /etc/ssl/certs/ca-certificates.crt "$work/host/certificates.crt"
apt_of_this_machine
pip_of_this_machine
chmod -R a+rX "$work/host"

# ---- the base

base=${BASE:-}
if [[ -z $base ]]; then
  ((${#sources[@]})) || fail "this machine is not Debian $release: name the image to begin with, BASE=..."
  say "making a base of Debian $release"
  # As small as Debian's own slim image; where its packages came from stays outside.
  mmdebstrap --quiet --variant=minbase --mode=root --aptopt="$work/host/fetching.conf" \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --customize-hook='rm -rf "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/* "$1"/etc/apt/apt.conf.d/99mmdebstrap' \
    --customize-hook='rm -f "$1"/etc/hostname "$1"/etc/resolv.conf' \
    "$release" "$work/base.tar" "${sources[@]}" || fail "mmdebstrap failed; see above"
  container=$(buildah_ from scratch)
  buildah_ add --quiet "$container" "$work/base.tar" / >/dev/null
  buildah_ commit --quiet --rm "$container" holo-base >/dev/null
  rm "$work/base.tar"
  base=localhost/holo-base
fi

# ---- the image

say "building"
began=$SECONDS
buildah_ build --quiet --layers=false --file Containerfile --tag "$name" --build-arg "BASE=$base" \
  --build-arg "PROGRAMS=${PROGRAMS:-}" "${arguments[@]}" "${volumes[@]}" . >"$work/build.log" 2>&1 ||
  { tail -n 40 "$work/build.log" >&2; fail "the build failed; see above"; }
say "built in $((SECONDS - began)) s"

container=$(buildah_ from --pull-never "localhost/$name")
root=$(buildah_ mount "$container")
! grep -rqsE "$inside/host|$work" "$root/etc" "$root/opt/venv/pyvenv.cfg" "$root/var/lib" || fail "a path of this machine is in the image"
bytes=$(du --summarize --apparent-size --one-file-system --bytes "$root" | cut -f1)
say "size: $((bytes / 1000000)) MB of files ($(du -sxm "$root/opt/venv" | cut -f1) MiB of them Python packages)"
((bytes <= most_bytes)) || [[ -n ${PROGRAMS:-} ]] || fail "that is more than $((most_bytes / 1000000)) MB"

# ---- the trial

say "in a container by buildah (its own root, this machine's network):"
STARTED_AT=$(date +%s.%N)
buildah_ run --isolation chroot --env "STARTED_AT=$STARTED_AT" --volume "$PWD/deployments/trial:/trial:ro" "$container" -- \
  /usr/bin/tini -s -- /opt/venv/bin/python /trial/trial.py /trial --starts "${STARTS:-10}"

# The same files behind walls that an engine would build: nothing can be written but a volume and memory, no network, none of
# this machine's processes, nobody's capabilities. Buildah knows no read-only root without an engine.
say "behind walls by bubblewrap (read-only root, no network, no capabilities):"
mkdir "$work/volume"
chown 1000:1000 "$work/volume"
environment=()
while IFS='=' read -r variable value; do
  [[ -z $variable ]] || environment+=(--setenv "$variable" "$value")
done < <(buildah_ inspect --format '{{range .OCIv1.Config.Env}}{{println .}}{{end}}' "$container")
STARTED_AT=$(date +%s.%N)
bwrap --ro-bind "$root" / --proc /proc --dev /dev --perms 1777 --tmpfs /tmp --perms 1777 --tmpfs /dev/shm \
  --bind "$work/volume" /var/lib/holo --ro-bind "$PWD/deployments/trial" /mnt \
  --unshare-net --unshare-pid --unshare-ipc --unshare-uts --as-pid-1 --die-with-parent --new-session \
  --cap-drop ALL --cap-add CAP_SETUID --cap-add CAP_SETGID --cap-add CAP_SETPCAP \
  --clearenv "${environment[@]}" --setenv STARTED_AT "$STARTED_AT" --chdir /opt/holo -- \
  /usr/bin/setpriv --reuid 1000 --regid 1000 --clear-groups --bounding-set -all --inh-caps -all --no-new-privs -- \
  /usr/bin/tini -- /opt/venv/bin/python /mnt/trial.py /mnt --closed --starts "${STARTS:-10}"

if [[ -n ${SAVE:-} ]]; then
  buildah_ push --quiet "localhost/$name" "docker-archive:$SAVE:$name:latest"
  say "saved: docker load --input $SAVE"
fi
