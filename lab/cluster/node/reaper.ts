/**
 * Kills process groups that would outlive this process, even if this process is killed itself: a shell waits for our
 * end and then kills the registered groups. A normal exit does not need it (`process-program.ts`).
 */

import { type ChildProcess, spawn } from "node:child_process"
import { Socket } from "node:net"

/** Reads `+ <group>` and `- <group>`; at the end of the input, when we are gone, kills the groups that are left. */
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
  // Without /bin/sh there is no reaper; everything else works.
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

/** Call the returned function once the group has ended: its number may then be given to another group. */
export const reapWithUs = (group: number): (() => void) => {
  tell("+", group)
  return () => tell("-", group)
}
