// The processes that process-program.test.ts runs: node child.mjs <mode> <pod ip>
import { spawn } from "node:child_process"
import { createServer } from "node:net"

const [mode, ip] = process.argv.slice(2)
switch (mode) {
  case "env":
    console.log(JSON.stringify(process.env))
    console.log("ready")
    process.exitCode = 7
    break
  case "polite":
    process.on("SIGTERM", () => {
      console.log("cleaning up")
      process.exit(0)
    })
    console.log(`ready ${process.pid}`)
    setInterval(() => undefined, 60_000)
    break
  case "stubborn": {
    process.on("SIGTERM", () => undefined)
    const own = spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 60000)"])
    console.log(`ready ${process.pid} ${own.pid}`)
    break
  }
  case "listen":
    createServer((socket) => socket.end()).listen(7070, ip)
    break
}
