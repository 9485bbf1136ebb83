# Divides the files of a library into as few units as their names allow: two files that define the same name for
# themselves (static, #define, struct, enum, typedef), or of which one says a word that is a macro of the other, do not
# stand in one unit. Prints "UNIT FILE" for each. Reads our own formatting: what a file defines begins its line.
function define(word) { if (word ~ /^[A-Za-z_]/) names[FILENAME] = names[FILENAME] " " word }
FNR == 1 { files[++file_count] = FILENAME; constants = 0 }
/^#define / { name = $2; sub(/\(.*/, "", name); define(name); macros[FILENAME] = macros[FILENAME] " " name }
/^(struct|enum|union) [a-z_0-9]+$/ { define($2) }
/^enum( [a-z_0-9]+)?$/ { constants = 1; next }
constants {
    line = $0
    sub(/\/\/.*/, "", line)
    if (line ~ /^\}/ || line ~ /\};/) constants = 0
    count = split(line, parts, ",")
    for (i = 1; i <= count; i++) if (match(parts[i], /[A-Za-z_][A-Za-z_0-9]*/)) define(substr(parts[i], RSTART, RLENGTH))
}
/^\} [a-z_0-9]+;/ { name = $2; sub(/;.*/, "", name); define(name) }
/^typedef / && match($0, /[a-z_0-9]+(\(|;)/) { define(substr($0, RSTART, RLENGTH - 1)) }
is_broken { line = $0; sub(/\(.*/, "", line); if (match(line, /[A-Za-z_0-9]+$/)) define(substr(line, RSTART)) }
{ is_broken = /^static [^(=;]*$/ } # the name stands on the next line
/^(static|_Thread_local|const) / && !/^static_assert/ && !is_broken {
    line = $0
    sub(/ *(=|;|\{|\/\/).*/, "", line)
    sub(/ *\[.*/, "", line)
    sub(/\(.*/, "", line) # what is left ends in the name
    if (match(line, /[A-Za-z_0-9]+$/)) define(substr(line, RSTART))
}
{
    line = $0
    while (match(line, /[A-Z_][A-Z_0-9]+/)) { # macros are spelled so
        says[FILENAME, substr(line, RSTART, RLENGTH)] = 1
        line = substr(line, RSTART + RLENGTH)
    }
}
END {
    for (i = 1; i <= file_count; i++) {
        file = files[i]
        count = split(names[file], own, " ")
        macro_count = split(macros[file], own_macros, " ")
        for (unit = 1; unit <= unit_count; unit++) {
            fits = 1
            for (k = 1; fits && k <= count; k++) if ((unit, own[k]) in taken) fits = 0
            member_count = split(members[unit], list, " ")
            for (m = 1; fits && m <= member_count; m++) {
                for (k = 1; fits && k <= macro_count; k++) if ((list[m], own_macros[k]) in says) fits = 0
                other_count = split(macros[list[m]], other, " ")
                for (k = 1; fits && k <= other_count; k++) if ((file, other[k]) in says) fits = 0
            }
            if (fits) break
        }
        if (unit > unit_count) unit_count = unit
        for (k = 1; k <= count; k++) taken[unit, own[k]] = 1
        members[unit] = members[unit] " " file
        print unit, file
    }
}
