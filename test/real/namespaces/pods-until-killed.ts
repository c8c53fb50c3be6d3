/** A program for `pod-networks.test.ts`: starts a node and a pod, prints their processes, and waits for its death. */

import { until } from "../../support/until.ts"
import { networkOf } from "./machine-network.ts"
import { PodNetworks } from "./pod-networks.ts"
import { startProcess } from "./running-process.ts"

const [directory = ""] = process.argv.slice(2)
const networks = await PodNetworks.start(directory)
const { pid } = startProcess(networks.enter("127.77.0.1", ["/bin/sleep", "3600"]))
await until("the pod's network", () => (networkOf(pid) === networkOf("self") ? undefined : true))
process.stdout.write(`${networks.nodePid} ${pid}\n`)
