/**
 * The application of a target in a network namespace, on the port that the arguments name, and with TLS if they name a
 * certificate and its key. SIGUSR2 closes the port: the process goes on, since a target whose process ends is no target
 * any more.
 */

import { readFileSync } from "node:fs"
import { makeApplication } from "../../lab/agent/incoming/application.ts"

const [port, cert, key] = process.argv.slice(2)
const application = makeApplication(
  cert === undefined || key === undefined ? undefined : { cert: readFileSync(cert), key: readFileSync(key) }
)
application.listen(Number(port), "0.0.0.0", () => process.stdout.write("ready\n"))
process.on("SIGUSR2", () => {
  application.close()
  process.stdout.write("closed\n")
})
setInterval(() => undefined, 60_000)
