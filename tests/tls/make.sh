#!/bin/bash
# Makes the certificates of the tests anew, beside this file: an authority, an intermediate one, servers' and
# clients' certificates, a revocation list. Good for a hundred years; their keys guard nothing.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
from=20200101000000Z to=21200101000000Z

key() { openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1"; }

# sign NAME SUBJECT ISSUER EXTENSIONS [FROM TO]: NAME.pem and NAME.key, signed by ISSUER
sign() {
    local name=$1 subject=$2 issuer=$3 extensions=$4 from=${5:-$from} to=${6:-$to}
    key "$name.key"
    openssl req -new -key "$name.key" -subj "$subject" -out "$work/$name.csr"
    printf '%s\n' "$extensions" > "$work/$name.ext"
    openssl ca -batch -notext -config "$work/$issuer.cnf" -cert "$issuer.pem" -keyfile "$work/$issuer.key" \
        -in "$work/$name.csr" -extfile "$work/$name.ext" -startdate "$from" -enddate "$to" -out "$name.pem"
}

authority() {
    local name=$1
    mkdir -p "$work/$name.d"
    : > "$work/$name.index"
    openssl rand -hex 8 > "$work/$name.serial"
    echo 01 > "$work/$name.crlnumber"
    cat > "$work/$name.cnf" <<CNF
[ca]
default_ca = own
[own]
database = $work/$name.index
serial = $work/$name.serial
crlnumber = $work/$name.crlnumber
new_certs_dir = $work/$name.d
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
CNF
}

# self_signed NAME KEYFILE SUBJECT EXTENSIONS: NAME.pem; makes a key if there is none
self_signed() {
    [ -f "$2" ] || key "$2"
    openssl req -new -key "$2" -subj "$3" -out "$work/$1.csr"
    printf '%s\n' "$4" > "$work/$1.ext"
    openssl ca -batch -notext -selfsign -config "$work/$1.cnf" -keyfile "$2" -in "$work/$1.csr" \
        -extfile "$work/$1.ext" -startdate "$from" -enddate "$to" -out "$1.pem"
}

root() {
    authority "$1"
    self_signed "$1" "$work/$1.key" "/CN=$2" 'basicConstraints=critical,CA:true
keyUsage=critical,keyCertSign,cRLSign'
}

server='basicConstraints=critical,CA:false
subjectAltName=DNS:localhost,DNS:db.test,IP:127.0.0.1
extendedKeyUsage=serverAuth'
client='basicConstraints=critical,CA:false
extendedKeyUsage=clientAuth'

root ca 'Umpire test authority'
root other-ca 'Another test authority'
sign intermediate '/CN=Umpire test intermediate' ca 'basicConstraints=critical,CA:true
keyUsage=critical,keyCertSign,cRLSign'
mv intermediate.key "$work/intermediate.key"
authority intermediate
sign server '/CN=localhost' intermediate "$server"
cat intermediate.pem >> server.pem
sign renewed '/CN=renewed' ca "$server"
sign elsewhere '/CN=elsewhere' ca 'basicConstraints=critical,CA:false
subjectAltName=DNS:elsewhere.test
extendedKeyUsage=serverAuth'
sign expired '/CN=expired' ca "$server" 20200101000000Z 20210101000000Z
sign withdrawn '/CN=withdrawn' ca "$server"
sign client '/CN=client' ca "$client"
sign revoked '/CN=revoked' ca "$client"
sign stranger '/CN=stranger' other-ca "$client"
for name in revoked withdrawn; do
    openssl ca -config "$work/ca.cnf" -cert ca.pem -keyfile "$work/ca.key" -revoke $name.pem
done
openssl ca -config "$work/ca.cnf" -cert ca.pem -keyfile "$work/ca.key" -gencrl -crl_lastupdate "$from" -crl_nextupdate "$to" -out crl.pem
openssl rsa -aes256 -passout pass:x -in <(openssl genrsa 2048) -out locked.key
# an RSA pair, for clients and suites that want one
openssl genrsa 2048 | openssl pkcs8 -topk8 -nocrypt -out rsa.key
authority rsa
self_signed rsa rsa.key /CN=localhost "$server"
rm -f intermediate.pem
