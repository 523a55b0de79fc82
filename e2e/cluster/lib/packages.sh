# The Debian packages that the node needs. A package is not installed if its programs exist already, so that a machine keeps a
# containerd or runc from another source.
# shellcheck shell=bash

# Prints the missing packages on one line.
missing_packages() {
    local missing=() pair
    for pair in containerd:containerd ctr:containerd runc:runc buildah:buildah iptables:iptables conntrack:conntrack \
        nft:nftables ip:iproute2 openssl:openssl gcc:gcc /usr/lib/cni/bridge:containernetworking-plugins \
        /usr/include/stdlib.h:libc6-dev ps:procps; do
        command -v "${pair%%:*}" >/dev/null || [[ -e ${pair%%:*} ]] || missing+=("${pair#*:}")
    done
    python3 -m pip --version >/dev/null 2>&1 || missing+=(python3 python3-pip)
    static_busybox >/dev/null || missing+=(busybox-static)
    if ((${#missing[@]})); then printf '%s\n' "${missing[@]}" | sort -u | paste -sd ' '; fi
}

# The path of a busybox that runs in an empty image.
static_busybox() {
    local path
    path=$(command -v busybox) || return 1
    ! ldd "$path" >/dev/null 2>&1 || return 1
    echo "$path"
}

install_packages() {
    local missing
    read -r -a missing <<<"$(missing_packages)"
    ((${#missing[@]})) || return 0
    command -v apt-get >/dev/null || die "these packages are missing, and there is no apt-get: ${missing[*]}"
    say "installing ${missing[*]}"
    without_daemons apt_install "${missing[@]}"
    [[ -z $(missing_packages) ]] || die "still missing after the installation: $(missing_packages)"
}

apt_install() {
    local log try
    log=$(mktemp)
    # apt-get fails at once while another one holds the lock of the package lists, so that the update is tried a few times.
    for try in 1 2 3 4 5; do
        apt-get update -qq >"$log" 2>&1 && break
        [[ $try == 5 ]] || sleep 5
    done
    if ! DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" >>"$log" 2>&1 </dev/null; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        die "apt-get could not install $*"
    fi
    rm -f "$log"
}

# Runs a command that installs packages, without starting their daemons: a policy-rc.d that answers 101 tells Debian so (one that
# the machine has already is kept), and daemons that started nevertheless are stopped.
without_daemons() {
    local policy=/usr/sbin/policy-rc.d ours=no before after
    if [[ ! -e $policy ]]; then
        ours=yes
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    before=$(pgrep -x containerd || true)
    (trap '[[ $ours == no ]] || rm -f "$policy"' EXIT && "$@")
    after=$(pgrep -x containerd || true)
    if [[ -z $before && -n $after ]]; then
        if [[ -d /run/systemd/system ]]; then systemctl stop containerd; else
            # shellcheck disable=SC2086  # one process id a word
            kill $after
        fi
    fi
}
