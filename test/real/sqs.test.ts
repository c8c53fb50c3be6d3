/** The queues of SQS as ElasticMQ, a real server, shows them to the AWS SDK. */

import { Context, Effect, Exit, Layer, Scope } from "effect"
import { afterAll, beforeAll, vi } from "vitest"
import { freePort } from "../../lab/playground/free-ports.ts"
import { startElasticMq } from "../../lab/playground/queues/elasticmq.ts"
import { sqsQueues } from "../../src/adapters/aws/sqs-queues.ts"
import { MessageQueues } from "../../src/ports/message-queues.ts"
import { messageQueuesSuite, type QueuesServer } from "../adapters/aws/message-queues-suite.ts"
import { describeWith } from "../support/describe-with.ts"

const elasticMq = Effect.gen(function* (): Effect.fn.Return<QueuesServer, unknown, Scope.Scope> {
  const port = yield* Effect.promise(freePort)
  const endpoint = yield* startElasticMq({ port })
  vi.stubEnv("AWS_ENDPOINT_URL_SQS", endpoint)
  return {
    queues: Context.get(yield* Layer.build(sqsQueues), MessageQueues),
    beside: `${endpoint}/000000000000/none`,
    differences: new Set([
      "tags are compared",
      "names are free at once",
      "deleting twice fails",
      "empty batches are taken",
      "some attributes are dropped"
    ]),
    run: Effect.runPromise
  }
})

describeWith(["ElasticMQ"], "MessageQueues, against ElasticMQ", () => {
  const scope = Scope.makeUnsafe()
  let server: QueuesServer
  beforeAll(async () => {
    for (const name of Object.keys(process.env)) if (name.startsWith("AWS_")) vi.stubEnv(name, undefined)
    const variables = { AWS_ACCESS_KEY_ID: "AKIAEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret", AWS_REGION: "eu-central-1" }
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
    server = await Effect.runPromise(Scope.provide(elasticMq, scope))
  })
  afterAll(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    vi.unstubAllEnvs()
  })

  messageQueuesSuite(() => server)
})
