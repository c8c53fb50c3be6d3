/**
 * The application of a target in a container, on the port that the argument names. SIGUSR2 closes the port, and opens
 * it again: the process goes on, since a target whose process ends is no target any more.
 */

import { makeApplication } from "../lab/agent/incoming/application.ts"

const application = makeApplication()
const listen = (): unknown => application.listen(Number(process.argv[2]), () => process.stdout.write("open\n"))
listen()
process.on("SIGUSR2", () => (application.listening ? application.close() : listen()))
application.on("close", () => process.stdout.write("closed\n"))
setInterval(() => undefined, 60_000)
