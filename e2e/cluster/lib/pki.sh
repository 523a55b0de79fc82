# Keys and certificates of one cluster: one authority, one certificate for each part, all by openssl and on elliptic curves,
# which takes a fifth of a second. They are deleted with the cluster's state folder.
# shellcheck shell=bash

PKI=$STATE/pki

make_pki() {
    local names
    mkdir -m 700 "$PKI"
    names=DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local,DNS:localhost
    make_authority
    make_certificate apiserver /CN=kube-apiserver serverAuth "$names,IP:$API_SERVICE,IP:$NODE_ADDRESS,IP:127.0.0.1"
    make_certificate admin /O=system:masters/CN=admin clientAuth
    make_certificate controller-manager /CN=system:kube-controller-manager clientAuth
    make_certificate scheduler /CN=system:kube-scheduler clientAuth
    make_certificate proxy /CN=system:kube-proxy clientAuth
    make_certificate kubelet "/O=system:nodes/CN=system:node:$NODE_NAME" clientAuth,serverAuth "DNS:$NODE_NAME,IP:$NODE_ADDRESS"
    new_key "$PKI/service-account.key"
    openssl pkey -in "$PKI/service-account.key" -pubout -out "$PKI/service-account.pub"
}

new_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null; } # FILE

make_authority() {
    new_key "$PKI/ca.key"
    openssl req -x509 -new -key "$PKI/ca.key" -out "$PKI/ca.crt" -days 30 -subj /CN=benchwright-cluster \
        -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
}

make_certificate() { # NAME SUBJECT USAGE [ALTERNATIVE_NAMES]
    new_key "$PKI/$1.key"
    openssl req -x509 -new -key "$PKI/$1.key" -CA "$PKI/ca.crt" -CAkey "$PKI/ca.key" -out "$PKI/$1.crt" -days 30 -subj "$2" \
        -addext basicConstraints=critical,CA:FALSE -addext keyUsage=critical,digitalSignature -addext "extendedKeyUsage=$3" \
        ${4:+-addext "subjectAltName=$4"}
}

# Writes a kubeconfig that needs no other file and that only its owner can read.
make_kubeconfig() { # CERTIFICATE_NAME FILE
    (umask 077 && cat >"$2.new") <<YAML
apiVersion: v1
kind: Config
current-context: benchwright
clusters:
- name: benchwright
  cluster:
    server: $API_SERVER
    certificate-authority-data: $(base64 -w 0 "$PKI/ca.crt")
users:
- name: benchwright
  user:
    client-certificate-data: $(base64 -w 0 "$PKI/$1.crt")
    client-key-data: $(base64 -w 0 "$PKI/$1.key")
contexts:
- name: benchwright
  context: {cluster: benchwright, user: benchwright}
YAML
    mv -f -- "$2.new" "$2"
}
