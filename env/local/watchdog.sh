# Arguments: the name of the marker variable, the mark, the parent of private directories.
name=$1 mark=$2 root=$3 dir=
trap '' HUP INT QUIT TERM TSTP PIPE

newline='
'
groups= boxed= reserved= forbidden=
while read -r verb arg; do
	case $verb in
	bye) exit 0 ;;
	spools) dir=$arg ;;
	boxed) boxed=1 ;;
	reserved) reserved="$arg$newline$reserved" ;;
	forbidden) forbidden="$forbidden$arg$newline" ;;
	began) groups="$groups $arg" ;;
	ended)
		rest=
		for g in $groups; do
			[ "$g" = "$arg" ] || rest="$rest $g"
		done
		groups=$rest
		;;
	esac
done

# The socket has ended, so the host is dead. Find and kill its commands. There may be thousands of other
# processes, so a single grep reads all of them, and the shell only looks at what it found.
if [ ! -r /proc/self/environ ] || ! cd /proc; then
	how=ps
elif grep -qsF reins-probe "$$/environ"; then
	how=grep
else
	how=each
fi

# every runs a command on one file of every process.
every() {
	file=$1
	shift
	printf '%s\n' [0-9]*/"$file" | xargs "$@" 2>/dev/null
}

# confined lists the processes in the sandbox. Only they have a mount of its temporary directories.
confined() {
	[ -n "$boxed" ] && [ -n "$dir" ] || return
	for f in $(every mountinfo grep -lsF -e "/$dir/tmp " -e "/$dir/read "); do
		echo "${f%/mountinfo}"
	done
}

# marked lists the processes with the mark.
marked() {
	case $how in
	grep)
		for f in $(every environ grep -lsF -e "$mark"); do
			echo "${f%/environ}"
		done
		;;
	each)
		for p in [0-9]*; do
			tr '\0' '\n' 2>/dev/null <"$p/environ" | grep -qF "$mark" && echo "$p"
		done
		;;
	ps)
		{ ps -axwwE -o pid=,command= || ps -axwwe -o pid=,command=; } 2>/dev/null |
			while read -r pid rest; do
				case $rest in
				*"$name="*"$mark"*) echo "$pid" ;;
				esac
			done
		;;
	esac
}

# A process that dropped its environment may still share a process group with one that has the mark.
# Only groups that a command started count: their leader has the mark or has exited.
families=
family_of() {
	family=
	read -r line <"$1/stat" || return
	set -- ${line##*)}
	case $1:$3 in
	[ZX]:* | *:0 | *:1 | *: | *:*[!0-9]*) return 1 ;;
	esac
	family=$3
}
learn_families() {
	all=" "
	for p in $1; do
		all="$all$p "
	done
	for p in $1; do
		family_of "$p" || continue
		case "$families " in
		*" -$family "*) continue ;;
		esac
		case $all in
		*" $family "*) ;;
		*) [ ! -e "$family" ] || continue ;;
		esac
		families="$families -$family"
	done
}

# family_lives reports whether a process in the groups is still running.
family_lives() {
	[ -n "$families" ] || return 1
	ids=
	for f in $families; do
		ids="$ids${ids:+|}${f#-}"
	done
	[ -n "$(every stat grep -lsE -e "\\) [^ZX] [0-9]+ ($ids) ")" ] && return
	families=
	return 1
}

# between_programs reports whether any process is in an exec. It has no variables until that is done,
# so it may or may not have the mark. The start address of its variables is 0 meanwhile.
between_programs() {
	[ "$how" = grep ] || return 1
	for f in $(every environ grep -Ls -e .); do
		p=${f%/environ}
		[ -e "$p/exe" ] && read -r line <"$p/stat" || continue
		set -- ${line##*)}
		[ "${48}" != 0 ] || return 0
	done
	return 1
}

for g in $groups; do
	kill -9 "-$g"
done
# A process that forks during the search may be missed, so look twice.
clean=0 round=0
while [ $clean -lt 2 ] && [ $round -lt 200 ]; do
	round=$((round + 1))
	pids=$(marked)
	[ -n "$pids" ] || pids=$(confined)
	[ "$how" = ps ] || learn_families "$pids" 2>/dev/null
	[ -z "$families$pids" ] || kill -9 $families $pids
	if [ -n "$pids" ] || family_lives || between_programs 2>/dev/null; then
		clean=0
	else
		clean=$((clean + 1))
	fi
	[ $clean -eq 2 ] || sleep 0.02 || sleep 1
done
IFS=$newline
set -f
for p in $forbidden; do
	case $p in
	*/.git/*) rm -f -- "$p" ;;
	*) [ ! -e "$p" ] && [ ! -L "$p" ] || mv -T -n -- "$p" "$p.reins-blocked" ;;
	esac
done
# A placeholder that another host needs too is locked.
for p in $reserved; do
	if [ -d "$p" ] && command -v flock >/dev/null; then
		flock -n "$p" rmdir -- "$p" 2>/dev/null
	else
		rmdir -- "$p" 2>/dev/null
	fi
done
unset IFS
set +f
case $dir in
*/*) ;;
reins-*) rm -rf -- "$root/$dir" ;;
esac
