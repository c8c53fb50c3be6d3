/**
 * Single calls of the AWS SDK to SQS: the client of the queue's region, a time limit, errors as the port has them.
 *
 * Not here: which calls there are (sqs-queues.ts).
 */

import type { SQS } from "@aws-sdk/client-sqs"
import { Effect, Result } from "effect"
import { quotation, quoted } from "../../domain/clean-text.ts"
import { configuredEndpoint } from "../../domain/queues/configured-endpoint.ts"
import { parseQueueAddress, type QueueAddress } from "../../domain/queues/queue-address.ts"
import { callLimit, QueueError } from "../../ports/message-queues.ts"
import { RegionalClients } from "./regional-clients.ts"
import { isOfIdentity, sqsFailure } from "./sqs-failure.ts"

/** The signal ends the wait for the answer. */
export interface CallOptions {
  readonly abortSignal: AbortSignal
}

type Ask<A> = (sqs: SQS, options: CallOptions) => Promise<A>

/** One call. */
interface Asked<A> {
  /** As in the API of SQS, such as `ReceiveMessage`. */
  readonly operation: string
  /** URL or name of the queue, for the error. */
  readonly queue: string
  /** `undefined`: the one that the SDK finds, in the environment or in AWS' configuration files. */
  readonly region: string | undefined
  /** How long the server itself waits before it answers, ms; 0 unless given. */
  readonly wait?: number
  readonly ask: Ask<A>
}

const readUrl = (
  text: string,
  endpoint: string | undefined
): Result.Result<Extract<QueueAddress, { readonly _tag: "Url" }>, string> =>
  Result.flatMap(parseQueueAddress(text, endpoint), (address) =>
    address._tag === "Url"
      ? Result.succeed(address)
      : Result.fail(`${quoted(text)} is the name of a queue: its URL is needed`)
  )

/** The calls as long as the scope is open. */
export const makeSqsCalls = Effect.gen(function* () {
  const endpoint = configuredEndpoint("SQS", process.env)
  const clients = yield* Effect.acquireRelease(
    Effect.sync(
      () =>
        new RegionalClients((region) =>
          import("./sqs-client.ts").then(({ sqsClient }) => sqsClient({ region, endpoint }))
        )
    ),
    (open) => Effect.ignore(Effect.tryPromise(() => open.close()))
  )

  const call = <A>({ ask, operation, queue, region, wait = 0 }: Asked<A>): Effect.Effect<A, QueueError> => {
    const limit = callLimit + wait
    const detail = `SQS gave no answer within ${limit / 1_000} s`
    return Effect.tryPromise({
      try: async (abortSignal) => ask(await clients.get(region), { abortSignal }),
      catch: (cause) => {
        if (isOfIdentity(cause)) clients.forget(region)
        return sqsFailure(operation, queue, cause)
      }
    }).pipe(
      Effect.timeoutOrElse({
        duration: limit,
        orElse: () => Effect.fail(new QueueError({ operation, queue, reason: "Unavailable", detail }))
      })
    )
  }

  /** The parts of a URL. The call fails if its host is neither AWS' nor the configured one, before any request. */
  const address = (operation: string, url: string) =>
    Effect.mapError(
      Effect.fromResult(readUrl(url, endpoint)),
      (detail) => new QueueError({ operation, queue: quotation(url), reason: "Invalid", detail })
    )

  const callQueue = <A>(operation: string, url: string, ask: Ask<A>, wait = 0): Effect.Effect<A, QueueError> =>
    Effect.flatMap(address(operation, url), ({ region }) => call({ operation, queue: url, region, wait, ask }))

  return { address, call, callQueue }
})
