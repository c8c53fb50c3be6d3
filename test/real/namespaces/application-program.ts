/**
 * The application of a target in a network namespace, on the port that the argument names. SIGUSR2 closes the port: the
 * process goes on, since a target whose process ends is no target any more.
 */

import { makeApplication } from "../../lab/agent/incoming/application.ts"

const application = makeApplication()
application.listen(Number(process.argv[2]), "0.0.0.0", () => process.stdout.write("ready\n"))
process.on("SIGUSR2", () => {
  application.close()
  process.stdout.write("closed\n")
})
setInterval(() => undefined, 60_000)
