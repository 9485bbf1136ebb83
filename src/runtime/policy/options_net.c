/*
 * options_net.c — the options of programs that fetch and pack: curl, wget, rsync, tar, zip, unzip.
 *
 * Source: `curl --help all` of curl 7.88.1 and curl(1); wget(1) GNU Wget 1.21.3; rsync(1) 3.2.7;
 * tar(1) GNU tar 1.34; zip(1) 3.0; unzip(1) 6.0.
 */
#include "options_tables.h"

#include "sma/text.h"

static void note_last(struct reading *reading, const char *why)
{
    uint32_t count = reading->shell->commands[reading->command].word_count;
    sma_unwrap_note(reading->shell, reading->command, count - 1, why);
}

/* The last part of an address, as it becomes the name of a file; false: it cannot be told. */
static bool take_remote_name(struct reading *reading, const struct sma_shell_word *url,
                             struct sma_shell_word *ret_name)
{
    struct sma_str text = sma_shell_word_str(url);
    const char *scheme = memmem(text.ptr, text.len, "://", 3);
    const char *from = scheme == NULL ? text.ptr : scheme + 3;
    const char *end = text.ptr + text.len;
    const char *slash = memrchr(from, '/', (size_t)(end - from));
    struct sma_str name = {slash == NULL ? end : slash + 1, 0};
    name.len = (size_t)(end - name.ptr);
    for (size_t i = 0; i < name.len; i++)
        if (!(name.ptr[i] >= 'a' && name.ptr[i] <= 'z') &&
            !(name.ptr[i] >= 'A' && name.ptr[i] <= 'Z') &&
            !(name.ptr[i] >= '0' && name.ptr[i] <= '9') && memchr("._-", name.ptr[i], 3) == NULL)
            return false;
    if (!sma_shell_word_is_constant(url) || name.len == 0)
        return false;
    char *copy = sma_shell_reserve(reading->shell, name.len + 1);
    if (copy == NULL)
        return false;
    memcpy(copy, name.ptr, name.len);
    copy[name.len] = '\0';
    *ret_name = *url;
    ret_name->text = copy;
    ret_name->len = ret_name->fixed_len = (uint32_t)name.len;
    return true;
}

static void touch_remote_names(struct reading *reading)
{
    for (uint32_t i = 0; i < reading->operand_count; i++) {
        uint32_t index = 0;
        const struct sma_shell_word *url = sma_options_operand(reading, i, &index);
        struct sma_shell_word name;
        if (take_remote_name(reading, url, &name))
            sma_unwrap_touch_at(reading->shell, reading->command, index, SMA_TOUCH_WRITE, &name);
        else
            sma_unwrap_note(reading->shell, reading->command, index,
                            "it writes a file of a name that cannot be told");
    }
}

/* -- curl -------------------------------------------------------------------------------------- */
static const struct option_row CURL[] = {
    {OPTION_FLAG,
     "anyauth a append basic cert-status compressed compressed-ssh create-dirs crlf digest q "
     "disable disable-eprt disable-epsv disallow-username-in-url doh-cert-status doh-insecure f "
     "fail fail-early fail-with-body false-start form-escape ftp-create-dirs ftp-pasv ftp-pret "
     "ftp-skip-pasv-ip ftp-ssl-ccc ftp-ssl-control G get g globoff haproxy-protocol I head "
     "http0.9 0 http1.0 http1.1 http2 http2-prior-knowledge http3 http3-only "
     "ignore-content-length i include k insecure 4 ipv4 6 ipv6 j junk-session-cookies l list-only "
     "L location location-trusted mail-rcpt-allowfails M manual negotiate n netrc netrc-optional "
     ": next no-alpn alpn N no-buffer buffer no-clobber clobber no-keepalive keepalive no-npn npn "
     "no-progress-meter progress-meter no-sessionid sessionid ntlm Z parallel parallel-immediate "
     "path-as-is post301 post302 post303 # progress-bar proxy-anyauth proxy-basic proxy-digest "
     "proxy-insecure proxy-negotiate proxy-ntlm proxy-ssl-allow-beast "
     "proxy-ssl-auto-client-cert proxy-tlsv1 p proxytunnel raw R remote-time remove-on-error "
     "retry-all-errors retry-connrefused sasl-ir S show-error s silent socks5-basic "
     "socks5-gssapi socks5-gssapi-nec ssl ssl-allow-beast ssl-auto-client-cert ssl-no-revoke "
     "ssl-reqd ssl-revoke-best-effort 2 sslv2 3 sslv3 styled-output suppress-connect-headers "
     "tcp-fastopen tcp-nodelay tftp-no-options 1 tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 "
     "tr-encoding trace-time B use-ascii v verbose V version xattr O remote-name remote-name-all"},
    {OPTION_TEXT,
     "aws-sigv4 cert-type ciphers connect-timeout connect-to C continue-at create-file-mode curves "
     "data-raw delegation dns-interface "
     "dns-ipv4-addr dns-ipv6-addr dns-servers doh-url expect100-timeout form-string "
     "ftp-account ftp-alternative-to-user ftp-method P ftp-port ftp-ssl-ccc-mode "
     "happy-eyeballs-timeout-ms h help hostpubmd5 hostpubsha256 interface "
     "keepalive-time key-type krb limit-rate local-port login-options mail-auth mail-from "
     "mail-rcpt max-filesize max-redirs m max-time noproxy oauth2-bearer parallel-max pass "
     "pinnedpubkey preproxy proto x proxy proxy-cert-type "
     "proxy-ciphers proxy-key-type proxy-pass proxy-pinnedpubkey "
     "proxy-service-name proxy-tls13-ciphers proxy-tlsauthtype proxy-tlspassword "
     "proxy-tlsuser U proxy-user proxy1.0 Q quote r range rate e referer X request "
     "request-target resolve retry retry-delay retry-max-time sasl-authzid service-name "
     "socks4 socks4a socks5 socks5-gssapi-service socks5-hostname Y speed-limit y speed-time t "
     "telnet-option tftp-blksize z time-cond tls-max tls13-ciphers tlsauthtype tlspassword "
     "tlsuser url u user A user-agent"},
    {OPTION_JUDGED,
     "d data data-ascii data-binary data-urlencode F form H header json proxy-header "
     "url-query w write-out"},
    {OPTION_READ,
     "b cookie cacert capath E cert crlfile egd-file etag-compare key netrc-file proxy-cacert "
     "proxy-capath proxy-cert proxy-crlfile proxy-key pubkey random-file"},
    {OPTION_WRITE, "c cookie-jar D dump-header etag-save libcurl o output stderr trace trace-ascii "
                   "alt-svc hsts"},
    {OPTION_BELOW, "output-dir"},
    {OPTION_ASK, "J remote-header-name metalink ntlm-wb"},
    /* -T to file:///path writes that path */
    {OPTION_ASK_VALUE,
     "abstract-unix-socket K config engine proto-default proto-redir T unix-socket "
     "upload-file"},
};

static const char READS_UNKNOWN[] = "it reads a file whose name cannot be told";

/* The file whose name is the value's bytes from `from` up to `to`. */
static void touch_part(struct reading *reading, uint32_t index, const struct sma_shell_word *value,
                       struct sma_str name)
{
    struct sma_shell_word file = *value;
    char *copy = sma_shell_reserve(reading->shell, name.len + 1);
    if (copy == NULL)
        return;
    uint32_t skip = (uint32_t)(name.ptr - value->text);
    memcpy(copy, name.ptr, name.len);
    copy[name.len] = '\0';
    file.text = copy;
    file.len = (uint32_t)name.len;
    file.fixed_len = value->fixed_len > skip ? value->fixed_len - skip : 0;
    file.fixed_len = file.fixed_len < file.len ? file.fixed_len : file.len;
    sma_unwrap_touch_at(reading->shell, reading->command, index, SMA_TOUCH_READ, &file);
}

/* name=@file;type=x sends a file, name=<file its text; names may be quoted, and several. */
static void judge_form(struct reading *reading, uint32_t index, const struct sma_shell_word *value)
{
    struct sma_str text = sma_shell_word_str(value);
    const char *equals = memchr(text.ptr, '=', value->fixed_len), *end = text.ptr + text.len;
    bool is_told = equals != NULL && (uint32_t)(equals - text.ptr) + 1 < value->fixed_len;
    if (sma_shell_word_is_constant(value))
        is_told = true;
    if (!is_told || memmem(text.ptr, text.len, "headers=", 8) != NULL) {
        sma_unwrap_note(reading->shell, reading->command, index, READS_UNKNOWN);
        return;
    }
    if (equals == NULL || equals + 1 == end || (equals[1] != '@' && equals[1] != '<'))
        return;
    struct sma_str name = {equals + 2, (size_t)(end - equals - 2)};
    if (memchr(name.ptr, '"', name.len) != NULL || memchr(name.ptr, ',', name.len) != NULL ||
        memchr(name.ptr, '\\', name.len) != NULL)
        sma_unwrap_note(reading->shell, reading->command, index, READS_UNKNOWN);
    const char *semicolon = memchr(name.ptr, ';', name.len);
    if (semicolon != NULL)
        name.len = (size_t)(semicolon - name.ptr);
    touch_part(reading, index, value, name);
}

/* Values of curl that name files, each in its own way. */
static void judge_curl(struct reading *reading, struct sma_str name, uint32_t index,
                       const struct sma_shell_word *value)
{
    struct sma_str text = sma_shell_word_str(value);
    const char *at = text.len > 0 && text.ptr[0] == '@' ? text.ptr : NULL;
    if (sma_list_has("F form", name)) {
        judge_form(reading, index, value);
        return;
    }
    if (sma_list_has("w write-out", name) && /* curl 8.3: %output{file} */
        (memmem(text.ptr, text.len, "%output", 7) != NULL || !sma_shell_word_is_constant(value)))
        sma_unwrap_note(reading->shell, reading->command, index,
                        "it writes files of names that cannot be told");
    if (sma_list_has("data-urlencode url-query", name) &&
        memchr(text.ptr, '=', text.len) == NULL) /* name@file */
        at = memchr(text.ptr, '@', text.len);
    if (at != NULL)
        touch_part(reading, index, value,
                   (struct sma_str){at + 1, (size_t)(text.ptr + text.len - at - 1)});
}

/* file:///.env, also as %2eenv or .{e}nv: curl reads what the name means to it. */
static void judge_address(struct reading *reading, const struct sma_shell_word *word,
                          uint32_t index)
{
    struct sma_str text = sma_shell_word_str(word);
    size_t known = sma_shell_word_is_constant(word) ? text.len : word->fixed_len;
    const char *end = memchr(text.ptr, '/', known);
    struct sma_str head = {text.ptr, end == NULL ? known : (size_t)(end - text.ptr)};
    while (head.len > 0 && (head.ptr[0] == ' ' || head.ptr[0] == '\t'))
        head = (struct sma_str){head.ptr + 1, head.len - 1};
    bool is_file =
        head.len >= 5 && sma_str_is_equal_nocase((struct sma_str){head.ptr, 5}, SMA_STR("file:"));
    bool is_open =
        !sma_shell_word_is_constant(word) && end == NULL && memchr(head.ptr, ':', head.len) == NULL;
    bool has_pattern = memchr(head.ptr, '{', head.len) != NULL ||
                       memchr(head.ptr, '[', head.len) != NULL ||
                       memchr(head.ptr, '\\', head.len) != NULL;
    if (is_file || is_open || has_pattern)
        sma_unwrap_note(reading->shell, reading->command, index, READS_UNKNOWN);
}

/* -b a=b sends it, -b file reads it: both stay in the project or are asked. */
static void finish_curl(struct reading *reading)
{
    const struct sma_shell_command *command = &reading->shell->commands[reading->command];
    for (uint32_t i = 1; i < command->word_count; i++) { /* -o '#1': a part of the URL */
        struct sma_str text = sma_shell_word_str(&sma_shell_words(reading->shell, command)[i]);
        const char *sign = memchr(text.ptr, '#', text.len);
        if (sign != NULL && sign + 1 < text.ptr + text.len && sign[1] >= '0' && sign[1] <= '9')
            sma_unwrap_note(reading->shell, reading->command, i,
                            "it writes files of names that cannot be told");
    }
    for (uint32_t i = 0; i < reading->operand_count; i++) {
        uint32_t index = 0;
        const struct sma_shell_word *word = sma_options_operand(reading, i, &index);
        judge_address(reading, word, index);
    }
    if (sma_options_saw(reading, "url"))
        note_last(reading, "an option of it is not known to be harmless");
    else if (sma_options_saw(reading, "O remote-name remote-name-all"))
        touch_remote_names(reading);
}

/* -- wget -------------------------------------------------------------------------------------- */
static const struct option_row WGET[] = {
    /* the n of -nv, -nc, -nd, -nH, -np: their second letter stands for itself here, which only asks
     * more often */
    {OPTION_FLAG,
     "V version h help d debug q quiet v verbose n no-verbose F force-html no-config "
     "retry-connrefused no-clobber no-netrc c continue show-progress N timestamping "
     "no-if-modified-since no-use-server-timestamps S server-response spider random-wait no-proxy "
     "no-dns-cache ignore-case 4 inet4-only 6 inet6-only ask-password no-iri unlink xattr "
     "no-directories x force-directories no-host-directories protocol-directories no-cache E "
     "adjust-extension ignore-length save-headers no-http-keep-alive no-cookies "
     "keep-session-cookies content-on-error auth-no-challenge https-only no-check-certificate "
     "no-hsts no-remove-listing no-glob no-passive-ftp preserve-permissions retr-symlinks "
     "ftps-implicit ftps-resume-ssl ftps-clear-data-connection ftps-fallback-to-ftp "
     "no-warc-compression no-warc-digests no-warc-keep-log r recursive delete-after k "
     "convert-links convert-file-only K backup-converted m mirror p page-requisites "
     "strict-comments follow-ftp H span-hosts L relative trust-server-names no-parent "
     "content-disposition"},
    {OPTION_TEXT,
     "report-speed B base t tries retry-on-http-error start-pos progress T timeout dns-timeout "
     "connect-timeout read-timeout w wait waitretry Q quota bind-address limit-rate "
     "prefer-family user password local-encoding remote-encoding cut-dirs "
     "http-user http-password header compression max-redirect proxy-user proxy-password referer U "
     "user-agent post-data method body-data secure-protocol certificate-type private-key-type "
     "pinnedpubkey ciphers ftp-user ftp-password l level A accept R reject accept-regex "
     "reject-regex regex-type D domains exclude-domains follow-tags ignore-tags I "
     "include-directories X exclude-directories "},
    {OPTION_MAYBE, "backups"},
    {OPTION_READ, "i input-file load-cookies post-file body-file certificate private-key "
                  "ca-certificate ca-directory crl-file"},
    {OPTION_WRITE, "o output-file a append-output O output-document rejected-log save-cookies "
                   "hsts-file"},
    {OPTION_BELOW, "P directory-prefix"},
    {OPTION_ASK, "b background warc-cdx"},
    {OPTION_ASK_VALUE, "e execute config warc-file warc-header warc-max-size warc-dedup "
                       "warc-tempdir input-metalink default-page restrict-file-names"},
    {OPTION_RUN, "use-askpass"},
};

static void finish_wget(struct reading *reading)
{
    bool names_output = sma_options_saw(reading, "O output-document");
    if (names_output || sma_options_saw(reading, "spider"))
        return;
    if (sma_options_saw(reading, "r recursive m mirror p page-requisites i input-file x "
                                 "trust-server-names content-disposition backups")) {
        sma_options_touch_here(reading);
        return;
    }
    if (!sma_options_saw(reading, "P directory-prefix"))
        touch_remote_names(reading);
}

/* -- rsync ------------------------------------------------------------------------------------- */
static const struct option_row RSYNC[] = {
    {OPTION_FLAG,
     "v verbose q quiet no-motd c checksum a archive no-OPTION r recursive R relative "
     "no-implied-dirs b backup u update inplace append append-verify d dirs old-dirs mkpath l "
     "links L copy-links copy-unsafe-links safe-links munge-links k copy-dirlinks K keep-dirlinks "
     "H hard-links p perms E executability A acls X xattrs o owner g group devices specials D t "
     "times U atimes open-noatime N crtimes O omit-dir-times J omit-link-times super fake-super S "
     "sparse preallocate n dry-run W whole-file x one-file-system existing "
     "ignore-non-existing ignore-existing del delete delete-before delete-during delete-delay "
     "delete-after delete-excluded ignore-missing-args delete-missing-args ignore-errors force "
     "partial delay-updates m prune-empty-dirs numeric-ids I ignore-times size-only y fuzzy z "
     "compress C cvs-exclude F 0 from0 old-args s secluded-args trust-sender 8 8-bit-output h "
     "human-readable progress P i itemize-changes list-only 4 ipv4 6 ipv6 fsync version help "
     "stats no-perms no-owner no-group no-times"},
    {OPTION_TEXT, "info debug stderr chmod block-size B max-delete max-size min-size max-alloc "
                  "usermap groupmap chown timeout contimeout modify-window @ compress-choice zc "
                  "compress-level zl skip-compress exclude include f filter address port sockopts "
                  "outbuf out-format log-file-format bwlimit stop-after stop-at protocol iconv "
                  "checksum-choice cc checksum-seed suffix"},
    {OPTION_READ, "compare-dest link-dest copy-dest exclude-from include-from files-from "
                  "password-file"},
    {OPTION_WRITE, "log-file write-batch only-write-batch"},
    {OPTION_BELOW, "backup-dir partial-dir T temp-dir"},
    {OPTION_ASK, "remove-source-files daemon copy-devices write-devices blocking-io"},
    {OPTION_ASK_VALUE, "read-batch config early-input M remote-option copy-as"},
    {OPTION_RUN, "e rsh rsync-path"},
};

static void finish_rsync(struct reading *reading)
{
    for (uint32_t i = 0; i < reading->operand_count; i++) {
        uint32_t index = 0;
        const struct sma_shell_word *word = sma_options_operand(reading, i, &index);
        bool is_last = i > 0 && i + 1 == reading->operand_count;
        if (memchr(word->text, ':', word->len) != NULL)
            sma_unwrap_note(reading->shell, reading->command, index, "it starts a remote shell");
        else
            sma_options_touch(reading, i, is_last ? SMA_TOUCH_WRITE_BELOW : SMA_TOUCH_READ);
    }
}

/* -- tar --------------------------------------------------------------------------------------- */
static const struct option_row TAR[] = {
    {OPTION_FLAG,
     "A catenate concatenate c create delete d diff compare r append test-label t list u update x "
     "extract get check-device G incremental ignore-failed-read no-check-device no-seek n seek S "
     "sparse exclude-backups exclude-caches exclude-caches-all exclude-caches-under exclude-vcs "
     "exclude-vcs-ignores no-null no-recursion no-unquote null recursion unquote anchored "
     "ignore-case no-anchored no-ignore-case no-wildcards no-wildcards-match-slash wildcards "
     "wildcards-match-slash keep-directory-symlink keep-newer-files k keep-old-files "
     "no-overwrite-dir overwrite overwrite-dir skip-old-files W verify "
     "ignore-command-error no-ignore-command-error O to-stdout clamp-mtime "
     "delay-directory-restore m touch no-delay-directory-restore no-same-owner "
     "no-same-permissions numeric-owner p preserve-permissions same-permissions same-owner s "
     "preserve-order same-order acls no-acls no-selinux no-xattrs selinux xattrs force-local B "
     "read-full-records i ignore-zeros old-archive portability posix a auto-compress j bzip2 J xz "
     "lzip lzma lzop no-auto-compress zstd z gzip gunzip ungzip Z compress uncompress "
     "hard-dereference h dereference one-file-system full-time l check-links R block-number "
     "show-defaults show-omitted-dirs show-snapshot-field-ranges show-transformed-names "
     "show-stored-names utc v verbose w interactive confirmation o ? help restrict usage version "
     "verbatim-files-from"},
    {OPTION_MAYBE, "occurrence atime-preserve checkpoint totals backup"},
    {OPTION_TEXT, "hole-detection level sparse-version exclude exclude-ignore "
                  "exclude-ignore-recursive exclude-tag exclude-tag-all exclude-tag-under group "
                  "mode mtime owner sort xattrs-exclude xattrs-include b blocking-factor "
                  "record-size H format V label K starting-file newer-mtime N newer after-date "
                  "strip-components no-quote-chars quote-chars quoting-style warning"},
    {OPTION_READ, "add-file X exclude-from group-map owner-map C directory"},
    {OPTION_WRITE, "index-file g listed-incremental volno-file"},
    {OPTION_TEXT, "f file"}, /* read or written: finish_tar() tells */
    {OPTION_ASK, "recursive-unlink remove-files U unlink-first P absolute-names M multi-volume "
                 "no-verbatim-files-from"},
    {OPTION_ASK_VALUE,
     "T files-from L tape-length transform xform pax-option suffix one-top-level"},
    {OPTION_RUN, "to-command checkpoint-action F info-script new-volume-script I "
                 "use-compress-program rmt-command rsh-command"},
};

static void finish_tar(struct reading *reading)
{
    const struct sma_shell_word *archive = sma_options_value(reading, "f file");
    const struct sma_shell_word *folder = sma_options_value(reading, "C directory");
    bool extracts = sma_options_saw(reading, "x extract get") &&
                    !sma_options_saw(reading, "O to-stdout t list");
    bool writes =
        sma_options_saw(reading, "c create r append u update A catenate concatenate delete");
    uint32_t last = reading->shell->commands[reading->command].word_count - 1;
    if (sma_options_repeated(reading, "f file")) /* tar takes the first, or each in turn */
        note_last(reading, "more than one archive");
    if (archive != NULL && memchr(archive->text, ':', archive->len) != NULL)
        note_last(reading, "an archive on another machine is reached by a remote shell");
    if (archive != NULL)
        sma_unwrap_touch_at(reading->shell, reading->command, last,
                            writes ? SMA_TOUCH_WRITE : SMA_TOUCH_READ, archive);
    if (extracts && folder == NULL)
        sma_options_touch_here(reading);
    else if (extracts)
        sma_unwrap_touch_at(reading->shell, reading->command, last, SMA_TOUCH_WRITE_BELOW, folder);
}

/* -- zip, unzip -------------------------------------------------------------------------------- */
/* zip has options of two letters: only letters that are no part of one that writes or runs
 * something. */
static const struct option_row ZIP[] = {
    {OPTION_FLAG,
     "r q j v X y e u D 0 1 2 3 4 5 6 7 8 9 h g k recurse-paths quiet junk-paths verbose "
     "no-extra symlinks encrypt update no-dir-entries help grow"},
    {OPTION_TEXT, "x exclude i include P password"},
};

static void finish_zip(struct reading *reading)
{
    const struct sma_shell_word *archive = sma_options_operand(reading, 0, NULL);
    if (archive == NULL)
        return;
    struct sma_shell_word target = *archive;
    sma_options_touch(reading, 0, SMA_TOUCH_WRITE);
    if (memchr(target.text, '.', target.len) == NULL)
        sma_options_touch_made(reading, SMA_TOUCH_WRITE, &target, ".zip", NULL);
}

static const struct option_row UNZIP[] = {
    {OPTION_FLAG, "Z A c f l p t u v z a b B C D j L n o q s U h V X help version"},
    {OPTION_ASK, "T : K W ^ M I O F S J"},
    {OPTION_TEXT, "x P"},
    {OPTION_BELOW, "d"},
};

static void finish_unzip(struct reading *reading)
{
    if (!sma_options_saw(reading, "d Z c l p t v z"))
        sma_options_touch_here(reading);
}

const struct description SMA_OPTIONS_NET[] = {
    DESCRIBE_JUDGED("curl", CURL, OPTIONS_NEGATED | OPTIONS_DASH_IS_OPTION,
                    "O remote-name remote-name-all o output url", finish_curl, judge_curl),
    DESCRIBE("wget", WGET, OPTIONS_DASH_IS_OPTION,
             "O output-document spider r recursive m mirror p page-requisites i input-file x "
             "trust-server-names content-disposition backups P directory-prefix",
             finish_wget),
    DESCRIBE("rsync", RSYNC, OPTIONS_NEGATED | OPTIONS_DASH_IS_OPTION, NULL, finish_rsync),
    DESCRIBE("tar", TAR, OPTIONS_OLD_STYLE,
             "f file C directory x extract get O to-stdout t list c create r append u update A "
             "catenate concatenate delete",
             finish_tar),
    DESCRIBE("zip", ZIP, OPTIONS_NO_SHORTENING, NULL, finish_zip),
    DESCRIBE("unzip", UNZIP, 0, "d Z c l p t v z", finish_unzip),
};
const size_t SMA_OPTIONS_NET_COUNT = SMA_COUNT_OF(SMA_OPTIONS_NET);
