/*
 * ws_server_tls.c — an authority and a server certificate, made anew for every server: no key lies
 * in the repository, and none of them can expire while the tests live on.
 */
#include "platform/ws_server_priv.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#define DAY_S 86400

static void need(bool is_good, const char *what)
{
    if (is_good)
        return;
    (void)fprintf(stderr, "ws_server: %s failed\n", what);
    exit(1);
}

static void add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    need(extension != NULL && X509_add_ext(certificate, extension, -1) == 1, value);
    X509_EXTENSION_free(extension);
}

/* issuer NULL: signed by itself. names NULL: an authority. */
static X509 *make_certificate(EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key,
                              const char *subject, const char *names, bool is_expired)
{
    static long serial;
    X509 *certificate = X509_new();
    need(certificate != NULL, "X509_new");
    need(X509_set_version(certificate, X509_VERSION_3) == 1, "X509_set_version");
    serial++;
    need(ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial) == 1, "serial");
    (void)X509_gmtime_adj(X509_getm_notBefore(certificate), -10 * DAY_S);
    (void)X509_gmtime_adj(X509_getm_notAfter(certificate), is_expired ? -DAY_S : 10 * DAY_S);
    need(X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                                    (const unsigned char *)subject, -1, -1, 0) == 1,
         "name");
    X509 *signer = issuer == NULL ? certificate : issuer;
    need(X509_set_issuer_name(certificate, X509_get_subject_name(signer)) == 1, "issuer");
    need(X509_set_pubkey(certificate, key) == 1, "X509_set_pubkey");
    add_extension(certificate, signer, NID_subject_key_identifier, "hash");
    if (names == NULL)
        add_extension(certificate, signer, NID_basic_constraints, "critical,CA:TRUE");
    else
        add_extension(certificate, signer, NID_subject_alt_name, names);
    need(X509_sign(certificate, issuer_key == NULL ? key : issuer_key, EVP_sha256()) > 0,
         "X509_sign");
    return certificate;
}

SSL_CTX *ws_server_tls_create(enum ws_server_tls kind, const char *ca_file)
{
    static const char here[] = "DNS:localhost,DNS:server.proxied.test,IP:127.0.0.1,IP:::1";
    EVP_PKEY *authority_key = EVP_EC_gen("P-256"), *key = EVP_EC_gen("P-256");
    need(authority_key != NULL && key != NULL, "EVP_EC_gen");
    X509 *authority = make_certificate(authority_key, NULL, NULL, "test authority", NULL, false);
    bool is_self_signed = kind == WS_SERVER_TLS_SELF_SIGNED;
    X509 *certificate = make_certificate(
        key, is_self_signed ? NULL : authority, is_self_signed ? NULL : authority_key,
        "test server", kind == WS_SERVER_TLS_WRONG_NAME ? "DNS:elsewhere.example" : here,
        kind == WS_SERVER_TLS_EXPIRED);
    FILE *file = fopen(ca_file, "w");
    need(file != NULL && PEM_write_X509(file, authority) == 1,
         "writing the authority's certificate");
    need(fclose(file) == 0, "fclose");

    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    need(ctx != NULL && SSL_CTX_use_certificate(ctx, certificate) == 1 &&
             SSL_CTX_use_PrivateKey(ctx, key) == 1,
         "SSL_CTX");
    (void)SSL_CTX_set_mode(ctx,
                           SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    X509_free(certificate);
    X509_free(authority);
    EVP_PKEY_free(key);
    EVP_PKEY_free(authority_key);
    return ctx;
}
