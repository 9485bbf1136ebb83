/*
 * generate_tables.c — programs, their options and the shapes of their commands.
 *
 * Source: the manual pages of each program (GNU coreutils 9.1, findutils 4.9, tar 1.34, sed 4.8,
 * make 4.3, git 2.39, curl 7.88, wget 1.21, zip 3.0, rsync 3.2, mawk 1.3.4) and of dash 0.5.12 and
 * bash 5.2. A row needs not be complete: what is missing is not tried.
 */
#include "generate_priv.h"

const struct row GENERATE_ROWS[] = {
    {"cat", 8, "nAbEsTv", "", "number show-all squeeze-blank", "cat %o %f|cat %f %f|cat %p|cat",
     ""},
    {"grep", 8, "inrlcvowEFHhq", "emABCf",
     "ignore-case count recursive include= exclude= color[= max-count= file= regexp=",
     "grep %o %t %f|grep %o -e %t %f|grep %o %t %p|grep -rn %t %d", "-f %r"},
    {"ls", 5, "laR1tSh", "Iw", "all color[= ignore= sort=", "ls %o %d|ls %o|ls %p", ""},
    {"head", 3, "qv", "nc", "lines= bytes= quiet", "head %o %f|head -n %i %f", ""},
    {"tail", 3, "qv", "nc", "lines= bytes=", "tail %o %f|tail -n %i %f", ""},
    {"wc", 2, "lwc", "", "lines files0-from=", "wc %o %f|wc -l %p", ""},
    {"cut", 2, "s", "dfbc",
     "delimiter= fields= output-delimiter=", "cut -d, -f1 %f|cut %o -f %i %f", ""},
    {"tr", 2, "dsc", "", "delete", "tr a b|tr -d %t|tr %o %t %t", ""},
    {"uniq", 2, "cdu", "fsw", "count skip-fields=", "uniq %o %f|uniq %f %n", "%f %r"},
    {"diff", 2, "uqrw", "U", "brief unified= to-file= from-file=", "diff %o %f %f", ""},
    {"echo", 5, "ne", "", "", "echo %t|echo %o %t %t|echo %p", ""},
    {"printf", 4, "", "", "", "printf %t %t|printf '%s\\n' %f", "-v %V[%e]|-v x[%e]|-va[%e]"},
    {"date", 1, "u", "dfsr", "date= set= file= utc", "date|date +%F|date %o", "-f %f|-s now"},
    {"du", 1, "shac", "d", "max-depth= files0-from=", "du -sh %d|du %o %f", ""},
    {"stat", 1, "Lt", "c", "format= printf=", "stat %f|stat -c %t %f", ""},
    {"file", 1, "bi", "fmF", "brief magic-file= files-from=", "file %f|file %o %f",
     "-C -m evil.conf"},
    {"basename", 1, "a", "s", "suffix=", "basename %f|basename %o %f", ""},
    {"dirname", 1, "z", "", "", "dirname %f", ""},
    {"seq", 1, "w", "sf", "separator= format=", "seq 1 3|seq %o 2", ""},
    {"git", 14, "", "", "no-pager",
     "git status %o|git diff|git diff --stat %g|git log --oneline|git log -n %i %f|git show %g|git "
     "add %f|git commit -m %t -- %f|"
     "git branch|git branch %n|git checkout %g|git checkout -- %f|git stash|git mv %f %n|git rm "
     "--cached %f|git ls-files %d|"
     "git blame %f|git grep %t|git tag v2|git restore %f|git reset %g|git rev-parse HEAD|git "
     "remote -v|git fetch mirror|"
     "git push mirror main|git push ./mirror.git HEAD:refs/heads/x|git push %h %g|git clone . "
     "%n|git merge %g|git bisect start|"
     "git submodule status|git worktree list|git archive HEAD|git describe|git shortlog HEAD|git "
     "config --get user.name|"
     "git -C %d status|git apply %f|git cherry-pick %g|git rebase %g|git switch main|git init "
     "%n|git show HEAD:%f|git gc|git am %f|"
     "git difftool|git format-patch -1|git ls-remote %h|git pull mirror main|git notes list|git "
     "bundle create %n HEAD|"
     "git checkout HEAD~1 -- Makefile|git mv -f m.txt %r|git worktree add %n|git stash push %f|git "
     "cat-file -p HEAD",
     "-c core.pager=%C|-c alias.x=!%C|-p|-C "
     "nested|--exec-path=.|--git-dir=nested/.git|--work-tree=sub|bisect run %C|bisect run "
     "canary|submodule foreach canary|"
     "bisect run canary|submodule foreach %C|submodule foreach canary|rebase -x %C HEAD~1|grep "
     "-O%C x|"
     "grep --open-files-in-pager=canary a|diff --ext-diff|log --output=%r|diff --output %r|clone "
     "-u canary ./mirror.git n|"
     "clone --upload-pack=canary ./mirror.git n|fetch --upload-pack canary mirror|push "
     "--receive-pack=canary ./mirror.git main|"
     "ls-remote --upload-pack=canary .|clone -c core.fsmonitor=canary . n|clone ext::canary "
     "n|config core.fsmonitor canary|"
     "config alias.x !canary|remote add x ext::canary|archive --remote=. --exec=canary HEAD|help "
     "-w git|difftool -x canary|"
     "mergetool|filter-branch --tree-filter canary|send-email --smtp-server=canary x|instaweb "
     "--httpd=canary|"
     "checkout HEAD~1 -- Makefile|mv -f m.txt %r|mv -f m.txt Makefile|archive -o %r "
     "HEAD|format-patch -o %r HEAD~1|"
     "worktree add ../wt|clone . ../cl|init --template=nested x|blame --contents %r a.txt|commit "
     "--template=%f|merge -s %C main|"
     "commit -e -m x|tag -a v3|var GIT_EDITOR|st|bisect run cat|rebase --exec canary HEAD~1|pull "
     "--upload-pack=canary mirror main"},
    {"find", 10, "", "", "",
     "find %d -name %t|find . -type f -name '*.txt'|find %d -maxdepth 1|find . -name %f -exec cat "
     "{} ;|"
     "find . -maxdepth 1 -type f -exec %L {} ;|find %d -type f -exec grep -l x {} +|find . "
     "-maxdepth 0 -exec %L ;|"
     "find %d -maxdepth 1 -name x -exec %L {} +|find sub -maxdepth 1 -name run.sh -execdir %L "
     ";|find . -newer %f -print",
     "-delete|-fprint %r|-fls %n|-fprintf %r x|-exec canary ;|-exec %L + %c ;|-execdir make ;|-ok "
     "%L ;|-exec make + --eval=+:;canary ;|"
     "-exec sh -c %C ;|-files0-from list.txt|-execdir %L {} +|-exec %L {} + -exec %L ;"},
    {"xargs", 8, "0rtxp", "InPLsdEaiel",
     "null no-run-if-empty max-lines[= replace[= max-args= max-procs= delimiter= arg-file= eof[= "
     "verbose open-tty process-slot-var= max-chars= show-limits",
     "xargs %o %L|xargs -n1 %L|xargs -I{} %L {}|xargs -r cat|xargs %o cat|xargs %o grep x|xargs %o "
     "rm",
     "sh -c %C|-a list.txt|--max-lines sh|--max-lines sh|--max-lines sh|--max-lines sh cat|-i "
     "sh|-l sh|-e sh"},
    {"env", 5, "i0v", "uCS", "ignore-environment unset= chdir= split-string= debug",
     "env %L|env %o %L|env x=1 %L|env -u %v %L|env",
     "-S %C|--split-string=%C|PATH=. %L|%V[%e]=1 %L|-C sub %L|-u d* cat"},
    {"timeout", 4, "fpv", "ks", "foreground kill-after= signal= preserve-status",
     "timeout 3 %L|timeout %o 3 %L|timeout -k 1 2 %L", "-s %v 2 %L"},
    {"nice", 2, "", "n", "adjustment=", "nice %L|nice -n %i %L|nice -5 %L", "--adj 5 %L"},
    {"nohup", 1, "", "", "", "nohup %L", ""},
    {"setsid", 1, "cfw", "", "wait fork", "setsid -w %L|setsid %L", ""},
    {"stdbuf", 1, "", "ioe", "output= input=", "stdbuf -oL %L|stdbuf %o %L", ""},
    {"time", 1, "p", "", "", "time %L|time -p %L", ""},
    {"command", 2, "pvV", "", "", "command %L|command -v cat|command -p %L", ""},
    {"builtin", 1, "", "", "", "builtin echo %t|builtin cd %d|builtin test %b", "eval %C"},
    {"exec", 2, "cl", "a", "", "exec %L|exec -a %t %L", "3<%f"},
    {"eval", 3, "", "", "", "eval %S|eval %L", ""},
    {"sh", 4, "eux", "o", "", "sh -c %S|sh %o -c %S|sh -c %S x y", "%h|-s|-c %C"},
    {"bash", 6, "eux", "oO", "norc posix noprofile", "bash -c %S|bash %o -c %S|bash -c %S x",
     "%h|--rcfile evil.conf -i|-c %C|--init-file %h -i -c :"},
    {"dash", 1, "eux", "o", "", "dash -c %S", "%h"},
    {"busybox", 2, "", "", "",
     "busybox %L|busybox cat %f|busybox sh -c %S|busybox env %L|busybox ls",
     "find . -exec canary ;|awk %k|sh run.sh|xargs canary"},
    {"tar", 10, "czvktjpPO", "fCTXgIF",
     "create extract list file= verbose gzip exclude= directory= transform= strip-components= "
     "files-from= to-stdout wildcards "
     "listed-incremental= index-file= owner= newer= backup[= suffix= warning=",
     "tar cf n.tar %f|tar czf n.tgz %d|tar tf a.tar|tar xf a.tar|tar xf a.tar -C %d|tar -c -f "
     "n.tar %o %f|tar -xf a.tar %o|tar -tvf a.tar|"
     "tar xf evil.tar|tar x%h a.tar|tar %p canary a.tar|tar c%p %f",
     "--to-command=%C|-I %C|-I canary|--use-compress-program=canary|--checkpoint=1 "
     "--checkpoint-action=exec=canary|"
     "--checkpoint-action=exec=canary --checkpoint=1|cfI n.tar canary a.txt|xIf canary a.tar|-F "
     "canary "
     "-M|--info-script=canary|--rsh-command=canary -f h:x|--rmt-command=canary|"
     "--transform=s/m.txt/Makefile/|--transform=s/a/b/e|-C .git|-C ..|-Pcf ../o.tar|-f "
     ".hidden|--index-file=%r|-g %r|-f %r|"
     "--one-top-level=.git|-vC.git|--xform s/m.txt/ship.json/|--volno-file=%r|--backup "
     "--suffix=kefile"},
    {"sed", 7, "nErsuz", "efl", "quiet regexp-extended expression= in-place[= separate",
     "sed %o %j %f|sed -n 1p %f|sed -i %j %f|sed -e %j -e %j %f",
     "-f evil.sed|-i s/a/b/ %r|-i.mk s/a/b/ %f|-n %f -i %p|-n 'w %r' a.txt|s/x/y/w%r|1e%C|-s -i "
     "s/x/y/ scripts/*.py|--in-place=kefile s/a/b/ Ma"},
    {"awk", 5, "", "Fvf", "",
     "awk %k %f|awk -F, %k %f|awk -v x=1 %k %f|awk -F %t %k %f|awk -v %V=%t %k %f",
     "-f evil.awk|-f %h|-F x* BEGIN{system(\"canary\")}|-W exec evil.awk|-E evil.awk|--source "
     "%k|-i evil.awk"},
    {"make", 7, "nsBkw", "jfCIWEol",
     "dry-run silent keep-going jobs[= file= directory= eval= always-make old-file= what-if= "
     "load-average[=",
     "make|make test|make %o test|make -n all|make -s clean|make %t|make -j %i test",
     "-f trap.mk|-f %h|-C sub|--eval=+:;canary|SHELL=./cat test|.SHELLFLAGS=-c~\"canary;\" "
     "test|.SHELLFLAGS=-c~canary; test|.SHELLFLAGS=-c~\"canary;\" "
     "test|--eval $(shell~canary)|MAKEFLAGS=--eval=+:;canary|"
     "-I sub|--directory=sub|-Csub test|x=$(shell~canary) test|-fsub/Makefile|--fil=trap.mk|-E "
     "$(shell~canary)|MAKEFILES=trap.mk|*|SHELL:=./cat|z;canary;|run|[z]*"},
    {"python3", 1, "", "", "", "python3 scripts/report.py|python3 scripts/report.py %f",
     "%h|-c %C|-m json|sub/scripts/report.py|scripts/*.py|scripts/evil.py|-i scripts/report.py"},
    {"npm", 0, "s", "C", "prefix=", "npm test",
     "-C sub|--prefix sub|run canary|--prefix=src|exec canary|--script-shell=./cat|-C src"},
    {"cp", 7, "rpvfnaLPul", "tS",
     "recursive force target-directory= suffix= backup[= parents remove-destination symbolic-link "
     "no-target-directory",
     "cp %f %n|cp %o %f %n|cp -r %d %n|cp %f %f logs|cp -t logs %f|cp %o %p logs",
     "%f %r|-t.git %f|-rt.git src|-b -S file a.txt Make|-bS.json Agent.md ship|-S kefile -b a.txt "
     "Ma|-vt.ship a.txt|m.txt Makefil?|--suffix=kefile -b a.txt Ma|"
     "-t .cargo a.txt|a.txt out/x|-R mirror.git .git|-s %f %r|-l %f %r|--parents .git/config "
     "sub|--target-dir=.git a.txt|-t scripts %h"},
    {"mv", 5, "fnvu", "tS", "force target-directory= suffix= backup[= no-clobber",
     "mv %f %n|mv %o %f %n|mv %p logs|mv -t logs %f",
     "%f %r|-t .git a.txt|-vt.git f|-b -Skefile a.txt Ma|Makefile m.txt|scripts x|.env x|-b "
     "--suffix=.py a.txt scripts/report|%r %n"},
    {"tee", 4, "ai", "", "append output-error[=", "tee %n|tee -a %n|tee %o %f",
     "%r|Makefil[e]|a.txt %r|-a %r"},
    {"rg", 3, "inlwcF", "ef",
     "files pre= hidden glob= hostname-bin= search-zip type=", "rg %o %t %f|rg -n %t|rg --files %d",
     "--pre canary x|--pre=canary x|--hostname-bin=canary x "
     "|-z x|-f %r x"},
    {"jq", 2, "rcnsS", "fL", "arg= rawfile= slurpfile= from-file= raw-output",
     "jq . %f|jq -r %t %f|jq %o . %f|cat %f | jq .", "-n --rawfile a %r|-f %r"},
    {"pwd", 1, "LP", "", "logical physical", "pwd|pwd %o", ""},
    {"df", 1, "hTi", "tx", "output= sync human-readable", "df -h|df %o %d", ""},
    {"which", 1, "a", "", "", "which %t|which sh", ""},
    {"md5sum", 1, "bt", "c", "check= tag zero", "md5sum %f|md5sum %o %f %f", "-c %f"},
    {"sort", 4, "nrufbsz", "kotTS",
     "output= key= unique reverse temporary-directory= compress-program= files0-from= parallel= "
     "buffer-size=",
     "sort %o %f|sort -n %f|sort -k2 %f|sort -o %n %f",
     "--compress-program=canary -S1|-o %r|-oMakefile|--output=%r|--outp %r|-T %d|-uo %r"},
    {"split", 2, "d", "alnbC",
     "lines= bytes= filter= additional-suffix= suffix-length= numeric-suffixes[=",
     "split -l 1 %f x|split %o %f|split -n 2 %f p",
     "--filter=canary a.txt|-a1 --additional-suffix=kefile m.txt M|--fil canary a.txt|-l1 a.txt "
     "scripts/|--additional-suffix=.py a.txt scripts/"},
    {"mkdir", 2, "pv", "m", "parents mode=", "mkdir -p %n|mkdir %o %n|mkdir x y",
     "-p .git/hooks/x|-p %r/x|-p ../x"},
    {"touch", 2, "acm", "drt", "no-create date= reference=", "touch %n|touch %o %f",
     "%r|.hidden|-d now %r"},
    {"ln", 2, "sfnv", "tS",
     "symbolic force suffix= target-directory= backup[=", "ln -s %f %n|ln -sf a.txt %n|ln %f %n",
     "-sf %f %r|-s / root|-sft .git a.txt|-f evil.py scripts/report.py|-s .env x|-sn .git g"},
    {"gzip", 1, "kcdf9", "S", "keep stdout suffix= force", "gzip -k %f|gzip -c %f|gzip %o %f",
     "-f %r|-S file Make|-rk ."},
    {"curl", 3, "sSfLIvOkgqR", "odXHuATDcbewKEmx",
     "silent location output= data= request= header= config= dump-header= cookie-jar= output-dir= "
     "max-time= url= user-agent= upload-file= create-dirs "
     "remote-name stderr= trace= libcurl= hsts= etag-save= cert= proxy= write-out= netrc-file= "
     "variable=",
     "curl -s %u|curl -s -o %n %u|curl %o %u|curl -m 1 %u|curl --engine /home/project/evil.so %u",
     "--engine ./evil.so|--engine ../../../../home/project/evil.so|--engine "
     "/home/project/evil.so|--engine /home/project/evil.so http://127.0.0.1/x|--engine "
     "/home/project/evil.so http://127.0.0.1/x|-s --engine /home/project/evil.so "
     "http://127.0.0.1/x|--eng /home/project/evil.so|"
     "-K evil.conf|-o %r|-O --output-dir %r|-c %r|--trace %r|--stderr %r|--libcurl %r|--hsts "
     "%r|--trace-ascii %r|-D %r|--etag-save %r|-T.env|"
     "--unix-socket /tmp/x|-so%r|--dump-header %r|-sD%r|--alt-svc %r"},
    {"wget", 2, "qcNv", "OoaPeiUtT",
     "quiet output-document= output-file= append-output= directory-prefix= execute= input-file= "
     "save-cookies= timeout= tries= "
     "rejected-log= hsts-file= use-askpass= post-file= warc-file= no-check-certificate",
     "wget -q -T 1 -t 1 %u|wget -q -t1 -O %n %u",
     "-o %r|-a %r|--use-askpass=canary http://u@127.0.0.1/|-e use_askpass=canary "
     "http://u@127.0.0.1/|-P .git %u|-qO%r %u|--rejected-log=%r|--save-cookies %r|-i list.txt"},
    {"zip", 2, "rqjm9@", "xibtO",
     "recurse-paths exclude= unzip-command= test out= temp-path= log-file-path= move",
     "zip -q n.zip %f|zip -rq n.zip %d|zip %o n.zip %f",
     "-T -TT canary|-TTcanary|--unzip-command=canary -T|-q ../o.zip a.txt|-b . n.zip a.txt|-qm "
     "n.zip Makefile|-lf %r n.zip a.txt|-O %r n.zip a.txt"},
    {"rsync", 1, "avrtnz", "efT",
     "archive delete rsh= rsync-path= exclude= files-from= log-file= backup backup-dir= suffix= "
     "temp-dir= partial-dir= write-batch= remove-source-files",
     "rsync -a %f %n|rsync -r %d logs",
     "-e canary h:x .|--rsh=canary h:x .|-a %f %r|--log-file=%r a.txt b|--write-batch=%r src "
     "x|--backup-dir=.git -b a.txt b.txt|--backup --suffix=kefile a.txt Ma"},
    {"cargo", 1, "qv", "",
     "release config= manifest-path= target-dir=", "cargo build|cargo build --release",
     "--config x|run|test|+nightly build|--manifest-path sub/Cargo.toml"},
    {"cd", 3, "LP", "", "", "cd %d|cd src|cd .|cd sub", "..|/tmp|$HOME|-|out|.git|mirror.git"},
    {"true", 2, "", "", "", "true", ""},
    {":", 4, "", "", "", ":|: %t|: %p", ""},
    {"test", 4, "", "", "", "test -f %f|test %b %b|test %b %b %b|test -n %t",
     "-v %V[%e]|-v a[%e]|x -eq a[%e]|-R x[%e]"},
    {"[", 6, "", "", "",
     "[ -f %f ]|[ %b %b ]|[ %b %b %b ]|[ -n %t ]|[ %b a[b] ]|[ 1 -eq %i ]|[ %b = %b -o %b %b ]",
     "-v a[b] ]|-v %V[%e] ]|%b a[b] ]|-v %b ]|1 -eq a[%e] ]"},
    {"export", 2, "np", "", "", "export %V=%t|export LANG=C",
     "%V[%e]=1|PATH=.|BASH_ENV=evil.conf|-f x|GIT_PAGER=canary|MAKEFLAGS=--eval=+:;canary"},
    {"declare", 2, "xrgpiaAnful", "", "",
     "declare %V=%t|declare -x %V=%t|declare %V[%e]=1|declare LC_a[%e]=1",
     "-i x=a[%e]|-n x=b[%e]|%V[%e]=1|LC_a[%e]=1|-a x=([%e]=1)"},
    {"readonly", 1, "p", "", "", "readonly %V=%t", "%V[%e]=1|LC_a[%e]=x"},
    {"typeset", 1, "xi", "", "", "typeset %V=%t", "%V[%e]=1|-i LC_a=b[%e]"},
    {"local", 1, "", "", "", "local %V=%t", "%V[%e]=1"},
    {"read", 2, "r", "adnptu", "", "read -r x|read -r x y|read x",
     "-a %V[%e]|x[%e]|-r b[%e]|-p %t x"},
    {"set", 1, "euxo", "", "", "set -e|set -eu|set -euo pipefail", "-- %f|-a|-o posix|%t"},
    {"exit", 1, "", "", "", "exit %i|exit", "a[%e]|%V"},
    {"shift", 1, "", "", "", "shift|shift 1", "a[%e]"},
    {"return", 1, "", "", "", "return 0", "a[%e]"},
    {"break", 1, "", "", "", "break|continue", "a[%e]"},
    {"wait", 1, "n", "p", "", "wait", "-p x[%e]|-n -p a[%e]"},
    {"trap", 1, "", "", "", "trap %S EXIT", "%C EXIT"},
    {"source", 1, "", "", "", "source %h|. %h", "<(canary)"},
    {"unset", 1, "vf", "", "", "unset %V|unset %V[%e]", "x[%e]"},
    {"let", 1, "", "", "", "let x=1|let %e", "a[%e]=1"},
    {"mapfile", 1, "t", "Cc", "", "mapfile x|mapfile -t x", "-C canary -c 1 x|x[%e]"},
    {"getopts", 1, "", "", "", "getopts a x", "a x[%e]"},
    {"printenv", 1, "", "", "", "printenv HOME", ""},
    {"flock", 1, "sxn", "w", "timeout= command=", "flock %n %L", "%n -c %C|Makefile %L"},
    {"watch", 0, "", "n", "", "watch -g %L", ""},
    {"rm", 1, "rf", "", "recursive force", "rm %f", ""},
    {"canary", 1, "", "", "", "canary", ""},
    {"./cat", 1, "", "", "", "./cat|./cat %f|./run.sh|src/../cat", ""},
    {"/bin/cat", 2, "n", "", "", "/bin/cat %f|/usr/bin/cat %f", ""},
};

const size_t GENERATE_ROW_COUNT = sizeof GENERATE_ROWS / sizeof GENERATE_ROWS[0];
