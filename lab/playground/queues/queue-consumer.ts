/**
 * A workload that reads a queue, as a program of its own: takes the messages of the queue `QUEUE` at
 * `AWS_ENDPOINT_URL_SQS` until it is told to stop, and writes a line `<queue> <body>` for each into the file `TAKEN`.
 */

import { appendFileSync } from "node:fs"
import { takeMessages } from "./ask-sqs.ts"

const { AWS_ENDPOINT_URL_SQS: endpoint = "", QUEUE: name = "", TAKEN: file = "" } = process.env
const stop = new AbortController()
process.once("SIGTERM", () => stop.abort())
console.log(`reads ${name}`)
await takeMessages({ endpoint, name }, (body) => appendFileSync(file, `${name} ${body}\n`), stop.signal)
