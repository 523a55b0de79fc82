#!/usr/bin/env bash
# Builds an image from a Containerfile without a Docker daemon, offline, into a docker-archive tar that `cluster load` imports.
# Only COPY and the like work reliably: a RUN would need a base image, and there is no registry to pull one from.
set -euo pipefail

source "$(dirname -- "${BASH_SOURCE[0]}")/lib/common.sh"

usage="usage: image.sh NAME:TAG CONTEXT_DIR OUT.tar [CONTAINERFILE]
  NAME without a registry is taken as localhost/NAME; CONTAINERFILE defaults to CONTEXT_DIR/Containerfile"
[[ $# == 3 || $# == 4 ]] || {
    echo "$usage" >&2
    exit 2
}
name=$1 context=$2 out=$(realpath -m -- "$3") containerfile=${4:-$2/Containerfile}
[[ $name == */* ]] || name=localhost/$name
[[ $name == *:* ]] || die "the image name \"$1\" has no tag; write NAME:TAG (kubelet pulls an untagged one anew each time)"
[[ -d $context ]] || die "the context folder $context does not exist"
[[ -f $containerfile ]] || die "the Containerfile $containerfile does not exist"
need_root
command -v buildah >/dev/null || die "needs buildah; run \`cluster install\`"

# A storage of its own, plain folders instead of overlay mounts, in a mount namespace of its own: nothing outlives the build.
work=$(scratch_folder)
trap 'rm -rf -- "$work"' EXIT
mkdir -p "$work/tmp" "$(dirname -- "$out")"
printf '[network]\nnetwork_config_dir = "%s"\n' "$work/tmp" >"$work/containers.conf"
buildah() {
    # As root, buildah keeps a cache in /var/lib/containers whatever it is told; here that is a mount that ends with it.
    TMPDIR=$work/tmp CONTAINERS_CONF=$work/containers.conf unshare --mount --propagation private bash -c '
        mount -t tmpfs tmpfs /var/lib && exec buildah "$@"' \
        buildah --root "$work/root" --runroot "$work/run" --storage-driver vfs "$@"
}
buildah bud --isolation chroot --quiet --format docker --timestamp 0 --file "$containerfile" --tag "$name" "$context" >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    die "buildah could not build $name"
}
buildah push --quiet "$name" "docker-archive:$work/image.tar:$name" >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    die "buildah could not write $name"
}
mv -f -- "$work/image.tar" "$out"
