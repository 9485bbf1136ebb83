/*
 * options_listed.h — the options that programs list in their own help, for the test that all of
 * them are described.
 *
 * Source: `NAME --help` of curl 7.88.1, wget 1.21.3, tar 1.34, make 4.3, coreutils 9.1, gzip 1.12,
 * cargo 1.95, pip 24; `git NAME -h` and `git NAME --git-completion-helper-all` of git 2.39.5.
 */
#ifndef TESTS_OPTIONS_LISTED_H
#define TESTS_OPTIONS_LISTED_H

struct listed
{
    const char *name, *options; /* blank-separated */
};

static const struct listed LISTED[] = {
    {"curl",
     "--abstract-unix-socket --alt-svc --anyauth -a --append --aws-sigv4 --basic --cacert --capath "
     "-E --cert --cert-status --cert-type --ciphers --compressed --compressed-ssh -K --config "
     "--connect-timeout --connect-to -C --continue-at -b --cookie -c --cookie-jar --create-dirs "
     "--create-file-mode --crlf --crlfile --curves -d --data --data-ascii --data-binary --data-raw "
     "--data-urlencode --delegation --digest -q --disable --disable-eprt --disable-epsv "
     "--disallow-username-in-url --dns-interface --dns-ipv4-addr --dns-ipv6-addr --dns-servers "
     "--doh-cert-status --doh-insecure --doh-url -D --dump-header --egd-file --engine "
     "--etag-compare --etag-save --expect100-timeout -f --fail --fail-early --fail-with-body "
     "--false-start -F --form --form-escape --form-string --ftp-account --ftp-alternative-to-user "
     "--ftp-create-dirs --ftp-method --ftp-pasv -P --ftp-port --ftp-pret --ftp-skip-pasv-ip "
     "--ftp-ssl-ccc --ftp-ssl-ccc-mode --ftp-ssl-control -G --get -g --globoff "
     "--happy-eyeballs-timeout-ms --haproxy-protocol -I --head -H --header -h --help --hostpubmd5 "
     "--hostpubsha256 --hsts --http0.9 -0 --http1.0 --http1.1 --http2 --http2-prior-knowledge "
     "--http3 --http3-only --ignore-content-length -i --include -k --insecure --interface -4 "
     "--ipv4 -6 --ipv6 --json -j --junk-session-cookies --keepalive-time --key --key-type --krb "
     "--libcurl --limit-rate -l --list-only --local-port -L --location --location-trusted "
     "--login-options --mail-auth --mail-from --mail-rcpt --mail-rcpt-allowfails -M --manual "
     "--max-filesize --max-redirs -m --max-time --metalink --negotiate -n --netrc --netrc-file "
     "--netrc-optional -: --next --no-alpn -N --no-buffer --no-clobber --no-keepalive --no-npn "
     "--no-progress-meter --no-sessionid --noproxy --ntlm --ntlm-wb --oauth2-bearer -o --output "
     "--output-dir -Z --parallel --parallel-immediate --parallel-max --pass --path-as-is "
     "--pinnedpubkey --post301 --post302 --post303 --preproxy -# --progress-bar --proto "
     "--proto-default --proto-redir -x --proxy --proxy-anyauth --proxy-basic --proxy-cacert "
     "--proxy-capath --proxy-cert --proxy-cert-type --proxy-ciphers --proxy-crlfile --proxy-digest "
     "--proxy-header --proxy-insecure --proxy-key --proxy-key-type --proxy-negotiate --proxy-ntlm "
     "--proxy-pass --proxy-pinnedpubkey --proxy-service-name --proxy-ssl-allow-beast "
     "--proxy-ssl-auto-client-cert --proxy-tls13-ciphers --proxy-tlsauthtype --proxy-tlspassword "
     "--proxy-tlsuser --proxy-tlsv1 -U --proxy-user --proxy1.0 -p --proxytunnel --pubkey -Q "
     "--quote --random-file -r --range --rate --raw -e --referer -J --remote-header-name -O "
     "--remote-name --remote-name-all -R --remote-time --remove-on-error -X --request "
     "--request-target --resolve --retry --retry-all-errors --retry-connrefused --retry-delay "
     "--retry-max-time --sasl-authzid --sasl-ir --service-name -S --show-error -s --silent "
     "--socks4 --socks4a --socks5 --socks5-basic --socks5-gssapi --socks5-gssapi-nec "
     "--socks5-gssapi-service --socks5-hostname -Y --speed-limit -y --speed-time --ssl "
     "--ssl-allow-beast --ssl-auto-client-cert --ssl-no-revoke --ssl-reqd --ssl-revoke-best-effort "
     "-2 --sslv2 -3 --sslv3 --stderr --styled-output --suppress-connect-headers --tcp-fastopen "
     "--tcp-nodelay -t --telnet-option --tftp-blksize --tftp-no-options -z --time-cond --tls-max "
     "--tls13-ciphers --tlsauthtype --tlspassword --tlsuser -1 --tlsv1 --tlsv1.0 --tlsv1.1 "
     "--tlsv1.2 --tlsv1.3 --tr-encoding --trace --trace-ascii --trace-time --unix-socket -T "
     "--upload-file --url --url-query -B --use-ascii -u --user -A --user-agent -v --verbose -V "
     "--version -w --write-out --xattr"},
    {"wget",
     "-V --version -h --help -b --background -e --execute -o --output-file -a --append-output -d "
     "--debug -q --quiet -v --verbose --no-verbose --report-speed -i --input-file -F --force-html "
     "-B --base --config --no-config --rejected-log -t --tries --retry-connrefused "
     "--retry-on-http-error -O --output-document --no-clobber --no-netrc -c --continue --start-pos "
     "--progress --show-progress -N --timestamping --no-if-modified-since "
     "--no-use-server-timestamps -S --server-response --spider -T --timeout --dns-timeout "
     "--connect-timeout --read-timeout -w --wait --waitretry --random-wait --no-proxy -Q --quota "
     "--bind-address --limit-rate --no-dns-cache --restrict-file-names --ignore-case -4 "
     "--inet4-only -6 --inet6-only --prefer-family --user --password --ask-password --use-askpass "
     "--no-iri --local-encoding --remote-encoding --unlink --xattr --no-directories -x "
     "--force-directories --no-host-directories --protocol-directories -P --directory-prefix "
     "--cut-dirs --http-user --http-password --no-cache --default-page -E --adjust-extension "
     "--ignore-length --header --compression --max-redirect --proxy-user --proxy-password "
     "--referer --save-headers -U --user-agent --no-http-keep-alive --no-cookies --load-cookies "
     "--save-cookies --keep-session-cookies --post-data --post-file --method --body-data "
     "--body-file --content-disposition --content-on-error --auth-no-challenge --secure-protocol "
     "--https-only --no-check-certificate --certificate --certificate-type --private-key "
     "--private-key-type --ca-certificate --ca-directory --crl-file --pinnedpubkey --ciphers "
     "--no-hsts --hsts-file --ftp-user --ftp-password --no-remove-listing --no-glob "
     "--no-passive-ftp --preserve-permissions --retr-symlinks --ftps-implicit --ftps-resume-ssl "
     "--ftps-clear-data-connection --ftps-fallback-to-ftp --warc-file --warc-header "
     "--warc-max-size --warc-cdx --warc-dedup --no-warc-compression --no-warc-digests "
     "--no-warc-keep-log --warc-tempdir -r --recursive -l --level --delete-after -k "
     "--convert-links --convert-file-only --backups -K --backup-converted -m --mirror -p "
     "--page-requisites --strict-comments -A --accept -R --reject --accept-regex --reject-regex "
     "--regex-type -D --domains --exclude-domains --follow-ftp --follow-tags --ignore-tags -H "
     "--span-hosts -L --relative -I --include-directories --trust-server-names -X "
     "--exclude-directories --no-parent"},
    {"tar",
     "-A --catenate --concatenate -c --create --delete -d --diff --compare -r --append "
     "--test-label -t --list -u --update -x --extract --get --check-device -g --listed-incremental "
     "-G --incremental --hole-detection --ignore-failed-read --level --no-check-device --no-seek "
     "-n --seek --occurrence --sparse-version -S --sparse --add-file -C --directory --exclude "
     "--exclude-backups --exclude-caches --exclude-caches-all --exclude-caches-under "
     "--exclude-ignore --exclude-ignore-recursive --exclude-tag --exclude-tag-all "
     "--exclude-tag-under --exclude-vcs --exclude-vcs-ignores --no-null --no-recursion "
     "--no-unquote --no-verbatim-files-from -T --null --recursion --files-from --unquote "
     "--verbatim-files-from -X --exclude-from --anchored --ignore-case --no-anchored "
     "--no-ignore-case --no-wildcards --no-wildcards-match-slash --wildcards "
     "--wildcards-match-slash --keep-directory-symlink --keep-newer-files -k --keep-old-files "
     "--no-overwrite-dir --one-top-level --overwrite --overwrite-dir --recursive-unlink "
     "--remove-files --skip-old-files -U --unlink-first -W --verify --ignore-command-error "
     "--no-ignore-command-error -O --to-stdout --to-command --atime-preserve --clamp-mtime "
     "--delay-directory-restore --group --group-map --mode --mtime -m --touch "
     "--no-delay-directory-restore --no-same-owner --no-same-permissions --numeric-owner --owner "
     "--owner-map -p --preserve-permissions --same-permissions --same-owner --sort -s "
     "--preserve-order --same-order --acls --no-acls --no-selinux --no-xattrs --selinux --xattrs "
     "--xattrs-exclude --xattrs-include --force-local -f --file -F --info-script "
     "--new-volume-script -L --tape-length -M --multi-volume --rmt-command --rsh-command "
     "--volno-file -b --blocking-factor -B --read-full-records -i --ignore-zeros --record-size -H "
     "--format --old-archive --portability --pax-option --posix -V --label -a --auto-compress -I "
     "--use-compress-program -j --bzip2 -J --xz --lzip --lzma --lzop --no-auto-compress --zstd -z "
     "--gzip --gunzip --ungzip -Z --compress --uncompress --backup --hard-dereference -h "
     "--dereference -K --starting-file --newer-mtime -N --newer --after-date --one-file-system -P "
     "--absolute-names --suffix --strip-components --transform --xform --checkpoint "
     "--checkpoint-action --full-time --index-file -l --check-links --no-quote-chars --quote-chars "
     "--quoting-style -R --block-number --show-defaults --show-omitted-dirs "
     "--show-snapshot-field-ranges --show-transformed-names --show-stored-names --totals --utc -v "
     "--verbose --warning -w --interactive --confirmation -o -? --help --restrict --usage "
     "--version"},
    {"make",
     "-b -m -B --always-make -C --directory -d --debug -e --environment-overrides -E --eval -f "
     "--file --makefile -h --help -i --ignore-errors -I --include-dir -j --jobs -k --keep-going -l "
     "--load-average --max-load -L --check-symlink-times -n --just-print --dry-run --recon -o "
     "--old-file --assume-old -O --output-sync -p --print-data-base -q --question -r "
     "--no-builtin-rules -R --no-builtin-variables -s --silent --quiet --no-silent -S "
     "--no-keep-going --stop -t --touch --trace -v --version -w --print-directory "
     "--no-print-directory -W --what-if --new-file --assume-new --warn-undefined-variables"},
    {"cp",
     "-a --archive --attributes-only --backup -b --copy-contents -d -f --force -i --interactive -H "
     "-l --link -L --dereference -n --no-clobber -P --no-dereference -p --preserve --no-preserve "
     "--parents -R -r --recursive --reflink --remove-destination --sparse --strip-trailing-slashes "
     "-s --symbolic-link -S --suffix -t --target-directory -T --no-target-directory -u --update -v "
     "--verbose -x --one-file-system -Z --context --help --version"},
    {"mv", "--backup -b -f --force -i --interactive -n --no-clobber --strip-trailing-slashes -S "
           "--suffix -t --target-directory -T --no-target-directory -u --update -v --verbose -Z "
           "--context --help --version"},
    {"ln", "--backup -b -d -F --directory -f --force -i --interactive -L --logical -n "
           "--no-dereference -P --physical -r --relative -s --symbolic -S --suffix -t "
           "--target-directory -T --no-target-directory -v --verbose --help --version"},
    {"install",
     "--backup -b -c -C --compare -d --directory -D -g --group -m --mode -o --owner -p "
     "--preserve-timestamps -s --strip --strip-program -S --suffix -t --target-directory -T "
     "--no-target-directory -v --verbose --preserve-context -Z --context --help --version"},
    {"tee", "-a --append -i --ignore-interrupts -p --output-error --help --version"},
    {"touch", "-a -c --no-create -d --date -f -h --no-dereference -m -r --reference -t --time "
              "--help --version"},
    {"mkdir", "-m --mode -p --parents -v --verbose -Z --context --help --version"},
    {"rmdir", "--ignore-fail-on-non-empty -p --parents -v --verbose --help --version"},
    {"rm", "-f --force -i -I --interactive --one-file-system --no-preserve-root --preserve-root -r "
           "-R --recursive -d --dir -v --verbose --help --version"},
    {"truncate", "-c --no-create -o --io-blocks -r --reference -s --size --help --version"},
    {"chmod", "-c --changes -f --silent --quiet -v --verbose --no-preserve-root --preserve-root "
              "--reference -R --recursive --help --version"},
    {"chown",
     "-c --changes -f --silent --quiet -v --verbose --dereference -h --no-dereference --from "
     "--no-preserve-root --preserve-root --reference -R --recursive -H -L -P --help --version"},
    {"chgrp",
     "-c --changes -f --silent --quiet -v --verbose --dereference -h --no-dereference "
     "--no-preserve-root --preserve-root --reference -R --recursive -H -L -P --help --version"},
    {"uniq", "-c --count -d --repeated -D --all-repeated -f --skip-fields --group -i --ignore-case "
             "-s --skip-chars -u --unique -z --zero-terminated -w --check-chars --help --version"},
    {"split", "-a --suffix-length --additional-suffix -b --bytes -C --line-bytes -d "
              "--numeric-suffixes -x --hex-suffixes -e --elide-empty-files --filter -l --lines -n "
              "--number -t --separator -u --unbuffered --verbose --help --version"},
    {"csplit", "-b --suffix-format -f --prefix -k --keep-files --suppress-matched -n --digits -s "
               "--quiet --silent -z --elide-empty-files --help --version"},
    {"sort",
     "-b --ignore-leading-blanks -d --dictionary-order -f --ignore-case -g --general-numeric-sort "
     "-i --ignore-nonprinting -M --month-sort -h --human-numeric-sort -n --numeric-sort -R "
     "--random-sort --random-source -r --reverse --sort -V --version-sort --batch-size -c --check "
     "-C --compress-program --debug --files0-from -k --key -m --merge -o --output -s --stable -S "
     "--buffer-size -t --field-separator -T --temporary-directory --parallel -u --unique -z "
     "--zero-terminated --help --version"},
    {"date", "-d --date --debug -f --file -I --iso-8601 --resolution -R --rfc-email --rfc-3339 -r "
             "--reference -s --set -u --utc --universal --help --version"},
    {"gzip", "-c --stdout -d --decompress -f --force -h --help -k --keep -l --list -L --license -n "
             "--no-name -N --name -q --quiet -r --recursive --rsyncable -S --suffix --synchronous "
             "-t --test -v --verbose -V --version -1 --fast -9 --best"},
    {"cargo", "--future-incompat-report --message-format -v --verbose -q --quiet --color --config "
              "-Z -h --help -p --package --workspace --exclude --all --lib --bins --bin --examples "
              "--example --tests --test --benches --bench --all-targets -F --features "
              "--all-features --no-default-features -r --release --profile -j --jobs --keep-going "
              "--target --target-dir --artifact-dir --unit-graph --timings --manifest-path "
              "--ignore-rust-version --locked --offline --frozen"},
    {"cargo",
     "--no-run --no-fail-fast --future-incompat-report --message-format -q --quiet -v --verbose "
     "--color --config -Z -h --help -p --package --workspace --exclude --all --lib --bins --bin "
     "--examples --example --tests --test --benches --bench --all-targets --doc -F --features "
     "--all-features --no-default-features -j --jobs -r --release --profile --target --target-dir "
     "--unit-graph --timings --manifest-path --ignore-rust-version --locked --offline --frozen"},
    {"cargo",
     "--future-incompat-report --message-format -v --verbose -q --quiet --color --config -Z -h "
     "--help -p --package --workspace --exclude --all --lib --bins --bin --examples --example "
     "--tests --test --benches --bench --all-targets -F --features --all-features "
     "--no-default-features -j --jobs --keep-going -r --release --profile --target --target-dir "
     "--unit-graph --timings --manifest-path --ignore-rust-version --locked --offline --frozen"},
    {"cargo", "--no-deps --fix -h --help -V --version --explain -W --warn -A --allow -D --deny -F "
              "--forbid --manifest-path --frozen --locked --offline"},
    {"cargo", "--message-format -v --verbose -q --quiet --color --config -Z -h --help -p --package "
              "--bin --example -F --features --all-features --no-default-features -j --jobs "
              "--keep-going -r --release --profile --target --target-dir --unit-graph --timings "
              "--manifest-path --ignore-rust-version --locked --offline --frozen"},
    {"cargo", "--doc -n --dry-run -v --verbose -q --quiet --color --config -Z -h --help -p "
              "--package --workspace -r --release --profile --target --target-dir --manifest-path "
              "--locked --offline --frozen"},
    {"cargo", "-e --edges -i --invert --prune --depth --prefix --no-dedupe -d --duplicates "
              "--charset -f --format -v --verbose -q --quiet --color --config -Z -h --help -p "
              "--package --workspace --exclude -F --features --all-features --no-default-features "
              "--target --manifest-path --locked --offline --frozen"},
    {"cargo",
     "-n --dry-run --recursive --precise -b --breaking -v --verbose -q --quiet --color --config -Z "
     "-h --help -w --workspace --manifest-path --ignore-rust-version --locked --offline --frozen"},
    {"cargo",
     "--open --no-deps --document-private-items --message-format -v --verbose -q --quiet --color "
     "--config -Z -h --help -p --package --workspace --exclude --all -F --features --all-features "
     "--no-default-features --lib --bins --bin --examples --example -j --jobs --keep-going -r "
     "--release --profile --target --target-dir --unit-graph --timings --manifest-path "
     "--ignore-rust-version --locked --offline --frozen"},
    {"cargo",
     "--no-default-features --default-features -F --features --optional --no-optional --public "
     "--no-public --rename -n --dry-run -v --verbose -q --quiet --color --config -Z -h --help "
     "--manifest-path --ignore-rust-version --locked --offline --frozen -p --package --path --base "
     "--git --branch --tag --rev --registry --dev --build --target"},
    {"cargo", "--filter-platform --no-deps --format-version -v --verbose -q --quiet --color "
              "--config -Z -h --help -F --features --all-features --no-default-features "
              "--manifest-path --locked --offline --frozen"},
    {"cargo", "-q --quiet -v --verbose --version -p --package --manifest-path --message-format "
              "--all --check -h --help"},
    {"pip",
     "-r --requirement -c --constraint --no-deps --pre -e --editable --dry-run -t --target "
     "--platform --python-version --implementation --abi --user --root --prefix --src -U --upgrade "
     "--upgrade-strategy --force-reinstall -I --ignore-installed --ignore-requires-python "
     "--no-build-isolation --use-pep517 --check-build-dependencies --break-system-packages -C "
     "--config-settings --global-option --compile --no-compile --no-warn-script-location "
     "--no-warn-conflicts --no-binary --only-binary --prefer-binary --require-hashes "
     "--progress-bar --root-user-action --report --no-clean -i --index-url --extra-index-url "
     "--no-index -f --find-links -h --help --debug --isolated --require-virtualenv --python -v "
     "--verbose -V --version -q --quiet --log --no-input --keyring-provider --proxy --retries "
     "--timeout --exists-action --trusted-host --cert --client-cert --cache-dir --no-cache-dir "
     "--disable-pip-version-check --no-color --no-python-version-warning --use-feature "
     "--use-deprecated -o --outdated -u --uptodate -l --local --path --format --not-required "
     "--exclude-editable --include-editable --exclude -d --dest -w --wheel-dir --no-verify "
     "--build-option"},
};

static const struct listed LISTED_GIT[] = {
    {"add",
     "-n --dry-run -v --verbose -i --interactive -p --patch -e --edit -f --force -u --update "
     "--renormalize -N --intent-to-add -A --all --ignore-removal --refresh --ignore-errors "
     "--ignore-missing --sparse --chmod --pathspec-from-file --pathspec-file-nul"},
    {"archive", "--format --prefix --add-file --add-virtual-file -o --output --worktree-attributes "
                "-v --verbose -l --list --remote --exec"},
    {"blame",
     "--incremental -b --root --show-stats --progress --score-debug -f --show-name -n "
     "--show-number -p --porcelain --line-porcelain -c -t -l -s -e --show-email -w --ignore-rev "
     "--ignore-revs-file --color-lines --color-by-age --minimal -S --contents -C -M -L --abbrev"},
    {"branch",
     "-v --verbose -q --quiet -t --track -u --set-upstream-to --unset-upstream --color -r "
     "--remotes --contains --no-contains --abbrev -a --all -d --delete -D -m --move -M -c --copy "
     "-C -l --list --show-current --create-reflog --edit-description -f --force --merged "
     "--no-merged --column --sort --points-at -i --ignore-case --recurse-submodules --format"},
    {"cat-file", "-e -p -t -s --allow-unknown-type --use-mailmap --mailmap --batch --batch-check "
                 "-z --batch-command --batch-all-objects --buffer --follow-symlinks --unordered "
                 "--textconv --filters --path"},
    {"check-attr", "-a --all --cached --stdin -z"},
    {"check-ignore", "-q --quiet -v --verbose --stdin -z -n --non-matching --no-index"},
    {"checkout", "-b -B -l --guess --overlay -q --quiet --recurse-submodules --progress -m --merge "
                 "--conflict -d --detach -t --track -f --force --orphan --overwrite-ignore "
                 "--ignore-other-worktrees -2 --ours -3 --theirs -p --patch "
                 "--ignore-skip-worktree-bits --pathspec-from-file --pathspec-file-nul"},
    {"cherry", "--abbrev -v --verbose"},
    {"cherry-pick",
     "--quit --continue --abort --skip --cleanup -n --no-commit -e --edit -s --signoff -m "
     "--mainline --rerere-autoupdate --strategy -X --strategy-option -S --gpg-sign -x --ff "
     "--allow-empty --allow-empty-message --keep-redundant-commits"},
    {"clean", "-q --quiet -n --dry-run -f --force -i --interactive -d -e --exclude -x -X"},
    {"clone",
     "-v --verbose -q --quiet --progress --reject-shallow -n --no-checkout --bare --mirror -l "
     "--local --no-hardlinks -s --shared --recurse-submodules --recursive -j --jobs --template "
     "--reference --reference-if-able --dissociate -o --origin -b --branch -u --upload-pack "
     "--depth --shallow-since --shallow-exclude --single-branch --no-tags --shallow-submodules "
     "--separate-git-dir -c --config --server-option -4 --ipv4 -6 --ipv6 --filter "
     "--also-filter-submodules --remote-submodules --sparse --bundle-uri"},
    {"commit",
     "-q --quiet -v --verbose -F --file --author --date -m --message -c --reedit-message -C "
     "--reuse-message --fixup --squash --reset-author --trailer -s --signoff -t --template -e "
     "--edit --cleanup --status -S --gpg-sign -a --all -i --include --interactive -p --patch -o "
     "--only -n --no-verify --dry-run --short --branch --ahead-behind --porcelain --long -z --null "
     "--amend --no-post-rewrite -u --untracked-files --pathspec-from-file --pathspec-file-nul"},
    {"count-objects", "-v --verbose -H --human-readable"},
    {"describe", "--contains --debug --all --tags --long --first-parent --abbrev --exact-match "
                 "--candidates --match --exclude --always --dirty --broken"},
    {"diff",
     "-z -p -u --patch-with-raw --stat --numstat --patch-with-stat --name-only --name-status "
     "--full-index --abbrev -R -B -M -C --find-copies-harder -l -O -S --pickaxe-all -a --text "
     "--patch --no-patch --unified --function-context --raw --shortstat --dirstat --cumulative "
     "--dirstat-by-file --check --summary --stat-width --stat-name-width --stat-graph-width "
     "--stat-count --compact-summary --binary --color --ws-error-highlight --src-prefix "
     "--dst-prefix --line-prefix --no-prefix --inter-hunk-context --output-indicator-new "
     "--output-indicator-old --output-indicator-context --break-rewrites --find-renames "
     "--irreversible-delete --find-copies --no-renames --rename-empty --follow --minimal "
     "--ignore-all-space --ignore-space-change --ignore-space-at-eol --ignore-cr-at-eol "
     "--ignore-blank-lines --ignore-matching-lines --indent-heuristic --patience --histogram "
     "--diff-algorithm --anchored --word-diff --word-diff-regex --color-words --color-moved "
     "--color-moved-ws --relative --exit-code --quiet --ext-diff --textconv --ignore-submodules "
     "--submodule --ita-invisible-in-index --ita-visible-in-index --pickaxe-regex --rotate-to "
     "--skip-to --find-object --diff-filter --output --no-function-context --no-compact-summary "
     "--no-full-index --no-color --no-abbrev --no-find-copies-harder --no-rename-empty --no-follow "
     "--no-minimal --no-ignore-matching-lines --no-indent-heuristic --no-color-moved "
     "--no-color-moved-ws --no-relative --no-text --no-exit-code --no-quiet --no-ext-diff "
     "--no-textconv"},
    {"diff-tree", "-r -c --cc --combined-all-paths --root -z -p -u --patch-with-raw --stat "
                  "--numstat --patch-with-stat --name-only --name-status --full-index --abbrev -R "
                  "-B -M -C --find-copies-harder -l -O -S --pickaxe-all -a --text"},
    {"fetch",
     "-v --verbose -q --quiet --all --set-upstream -a --append --atomic --upload-pack -f --force "
     "-m --multiple -t --tags -n -j --jobs --prefetch -p --prune -P --prune-tags "
     "--recurse-submodules --dry-run --write-fetch-head -k --keep -u --update-head-ok --progress "
     "--depth --shallow-since --shallow-exclude --deepen --unshallow --refetch --update-shallow "
     "--refmap -o --server-option -4 --ipv4 -6 --ipv6 --negotiation-tip --negotiate-only --filter "
     "--auto-maintenance --auto-gc --show-forced-updates --write-commit-graph --stdin"},
    {"for-each-ref", "-s --shell -p --perl --python --tcl --count --format --color --sort "
                     "--points-at --merged --no-merged --contains --no-contains --ignore-case"},
    {"format-patch",
     "-n --numbered -N --no-numbered -s --signoff --stdout --cover-letter --numbered-files "
     "--suffix --start-number -v --reroll-count --filename-max-length --rfc "
     "--cover-from-description --subject-prefix -o --output-directory -k --keep-subject "
     "--no-binary --zero-commit --ignore-if-in-upstream -p --no-stat --add-header --to --cc --from "
     "--in-reply-to --attach --inline --thread --signature --base --signature-file -q --quiet "
     "--progress --interdiff --range-diff --creation-factor --force-in-body-from"},
    {"fsck", "-v --verbose --unreachable --dangling --tags --root --cache --reflogs --full "
             "--connectivity-only --strict --lost-found --progress --name-objects"},
    {"gc", "-q --quiet --prune --cruft --aggressive --auto --force --keep-largest-pack"},
    {"grep",
     "--cached --no-index --untracked --exclude-standard --recurse-submodules -v --invert-match -i "
     "--ignore-case -w --word-regexp -a --text -I --textconv -r --recursive --max-depth -E "
     "--extended-regexp -G --basic-regexp -F --fixed-strings -P --perl-regexp -n --line-number "
     "--column -h -H --full-name -l --files-with-matches --name-only -L --files-without-match -z "
     "--null -o --only-matching -c --count --color --break --heading -C --context -B "
     "--before-context -A --after-context --threads -p --show-function -W --function-context -f -e "
     "--and --or --not -q --quiet --all-match -O --open-files-in-pager --ext-grep -m --max-count"},
    {"help", "-a --all --external-commands --aliases -m --man -w --web -i --info -v --verbose -g "
             "--guides --user-interfaces --developer-interfaces -c --config"},
    {"init", "--template --bare --shared -q --quiet --separate-git-dir -b --initial-branch "
             "--object-format"},
    {"log", "-q --quiet --source --use-mailmap --mailmap --clear-decorations --decorate-refs "
            "--decorate-refs-exclude --decorate -L --no-quiet --no-source --no-use-mailmap "
            "--no-mailmap --no-decorate-refs --no-decorate-refs-exclude --no-decorate"},
    {"ls-files",
     "-z -t -v -f -c --cached -d --deleted -m --modified -o --others -i --ignored -s --stage -k "
     "--killed --directory --eol --empty-directory -u --unmerged --resolve-undo -x --exclude -X "
     "--exclude-from --exclude-per-directory --exclude-standard --full-name --recurse-submodules "
     "--error-unmatch --with-tree --abbrev --debug --deduplicate --sparse --format"},
    {"ls-remote", "-q --quiet --upload-pack -t --tags -h --heads --refs --get-url --sort "
                  "--exit-code --symref -o --server-option"},
    {"ls-tree", "-d -r -t -z -l --long --name-only --name-status --object-only --full-name "
                "--full-tree --format --abbrev"},
    {"merge", "-n --stat --summary --log --squash --commit -e --edit --cleanup --ff --ff-only "
              "--rerere-autoupdate --verify-signatures -s --strategy -X --strategy-option -m "
              "--message -F --file --into-name -v --verbose -q --quiet --abort --quit --continue "
              "--allow-unrelated-histories --progress -S --gpg-sign --autostash --overwrite-ignore "
              "--signoff --no-verify"},
    {"merge-base", "-a --all --octopus --independent --is-ancestor --fork-point"},
    {"mv", "-v --verbose -n --dry-run -f --force -k --sparse"},
    {"name-rev",
     "--name-only --tags --refs --exclude --all --stdin --annotate-stdin --undefined --always"},
    {"pull", "-v --verbose -q --quiet --progress --recurse-submodules -r --rebase -n --stat --log "
             "--signoff --squash --commit --edit --cleanup --ff --ff-only --verify "
             "--verify-signatures --autostash -s --strategy -X --strategy-option -S --gpg-sign "
             "--allow-unrelated-histories --all -a --append --upload-pack -f --force -t --tags -p "
             "--prune -j --jobs --dry-run -k --keep --depth --shallow-since --shallow-exclude "
             "--deepen --unshallow --update-shallow --refmap -o --server-option -4 --ipv4 -6 "
             "--ipv6 --negotiation-tip --show-forced-updates --set-upstream"},
    {"push", "-v --verbose -q --quiet --repo --all --mirror -d --delete --tags -n --dry-run "
             "--porcelain -f --force --force-with-lease --force-if-includes --recurse-submodules "
             "--thin --receive-pack --exec -u --set-upstream --progress --prune --no-verify "
             "--follow-tags --signed --atomic -o --push-option -4 --ipv4 -6 --ipv6"},
    {"rebase",
     "--onto --keep-base --no-verify -q --quiet -v --verbose -n --no-stat --signoff "
     "--committer-date-is-author-date --reset-author-date -C --ignore-whitespace --whitespace -f "
     "--force-rebase --no-ff --continue --skip --abort --quit --edit-todo --show-current-patch "
     "--apply -m --merge -i --interactive --rerere-autoupdate --empty --autosquash --update-refs "
     "-S --gpg-sign --autostash -x --exec -r --rebase-merges --fork-point -s --strategy -X "
     "--strategy-option --root --reschedule-failed-exec --reapply-cherry-picks"},
    {"remote", "-v --verbose"},
    {"reset", "-q --quiet --no-refresh --mixed --soft --hard --merge --keep --recurse-submodules "
              "-p --patch -N --intent-to-add --pathspec-from-file --pathspec-file-nul"},
    {"restore", "-s --source -S --staged -W --worktree --ignore-unmerged --overlay -q --quiet "
                "--recurse-submodules --progress -m --merge --conflict -2 --ours -3 --theirs -p "
                "--patch --ignore-skip-worktree-bits --pathspec-from-file --pathspec-file-nul"},
    {"rev-list",
     "--max-count --max-age --min-age --sparse --no-merges --min-parents --no-min-parents "
     "--max-parents --no-max-parents --remove-empty --all --branches --tags --remotes --stdin "
     "--exclude-hidden --quiet --topo-order --date-order --reverse --parents --children --objects "
     "--objects-edge --disk-usage --unpacked --header --pretty --abbrev --no-abbrev "
     "--abbrev-commit --left-right --count --bisect --bisect-vars --bisect-all"},
    {"revert",
     "--quit --continue --abort --skip --cleanup -n --no-commit -e --edit -s --signoff -m "
     "--mainline --rerere-autoupdate --strategy -X --strategy-option -S --gpg-sign --reference"},
    {"rm", "-n --dry-run -q --quiet --cached -f --force -r --ignore-unmatch --sparse "
           "--pathspec-from-file --pathspec-file-nul"},
    {"shortlog", "-c --committer -n --numbered -s --summary -e --email -w --group"},
    {"show", "-q --quiet --source --use-mailmap --mailmap --clear-decorations --decorate-refs "
             "--decorate-refs-exclude --decorate -L --no-quiet --no-source --no-use-mailmap "
             "--no-mailmap --no-decorate-refs --no-decorate-refs-exclude --no-decorate"},
    {"show-ref", "--tags --heads --verify --head -d --dereference -s --hash --abbrev -q --quiet "
                 "--exclude-existing"},
    {"status",
     "-v --verbose -s --short -b --branch --show-stash --ahead-behind --porcelain --long -z --null "
     "-u --untracked-files --ignored --ignore-submodules --column --no-renames -M --find-renames"},
    {"switch", "-c --create -C --force-create --guess --discard-changes -q --quiet "
               "--recurse-submodules --progress -m --merge --conflict -d --detach -t --track -f "
               "--force --orphan --overwrite-ignore --ignore-other-worktrees"},
    {"symbolic-ref", "-q --quiet -d --delete --short --recurse -m"},
    {"tag",
     "-l --list -n -d --delete -v --verify -a --annotate -m --message -F --file -e --edit -s "
     "--sign --cleanup -u --local-user -f --force --create-reflog --column --contains "
     "--no-contains --merged --no-merged --sort --points-at --format --color -i --ignore-case"},
    {"version", "--build-options"},
};

#endif
