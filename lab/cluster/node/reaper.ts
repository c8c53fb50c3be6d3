import { type ChildProcess, spawn } from "node:child_process"
import { Socket } from "node:net"

/** Reads `+ <group>` and `- <group>`; when nobody can write any more, kills what is left. */
const script = `
trap '' INT TERM HUP
groups=
while read -r word group; do
  case $word in
    +) groups="$groups $group" ;;
    -) rest=
       for one in $groups; do [ "$one" = "$group" ] || rest="$rest $one"; done
       groups=$rest ;;
  esac
done
for one in $groups; do kill -s KILL -- "-$one"; done
exit 0`

let reaper: ChildProcess | undefined

const start = (): ChildProcess => {
  const child = spawn("/bin/sh", ["-c", script], { detached: true, stdio: ["pipe", "ignore", "ignore"], env: {} })
  // A machine without it only loses the help.
  child.on("error", () => undefined)
  child.stdin?.on("error", () => undefined)
  child.unref()
  if (child.stdin instanceof Socket) child.stdin.unref()
  return child
}

const tell = (word: "+" | "-", group: number): void => {
  reaper ??= start()
  reaper.stdin?.write(`${word} ${group}\n`)
}

/**
 * Sees to it that a process group does not outlive this process, even one that is killed: a shell that only waits for
 * our end then kills the group. Gives what is to be called once the group has ended by itself, since its number may
 * then become another's.
 */
export const reapWithUs = (group: number): (() => void) => {
  tell("+", group)
  return () => tell("-", group)
}
