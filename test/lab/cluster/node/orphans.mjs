// Starts two processes that outlive this one; the reaper shall kill the first, the second is released. Prints their
// pids.
import { spawn } from "node:child_process"
import { reapWithUs } from "../../../../lab/cluster/node/reaper.ts"

const start = () =>
  spawn(process.execPath, ["-e", "setInterval(() => undefined, 60000)"], { detached: true, stdio: "ignore" })
const [reaped, released] = [start(), start()]
reapWithUs(reaped.pid ?? 0)
reapWithUs(released.pid ?? 0)()
console.log(JSON.stringify([reaped.pid, released.pid]))
setInterval(() => undefined, 60_000)
