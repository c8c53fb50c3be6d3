/**
 * The options of an SQS queue from the properties of its list.
 *
 * Not here: where properties come from (property-list.ts).
 */

import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Properties } from "./property-list.ts"
import { defaultJqTimeLimitMillis, type QueueOptions } from "./split-configuration.ts"

/** A JSON object all of whose values are texts. */
const readTags = Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Record(Schema.String, Schema.String)))

/**
 * Reads the options. Other properties are left alone: a list may hold a whole ConfigMap. The failure goes on after the
 * name of the list, and quotes no value, which may come from a Secret.
 */
export const readQueueProperties = (properties: Properties): Result.Result<QueueOptions, string> =>
  Result.gen(function* () {
    const value = (name: string): string | undefined => {
      const found = properties.get(name)
      return found === undefined ? undefined : Redacted.value(found)
    }
    const truth = (name: string): Result.Result<boolean, string> => {
      const text = value(name) ?? "false"
      return text === "true" || text === "false"
        ? Result.succeed(text === "true")
        : Result.fail(`has a property ${name} that is neither "true" nor "false"`)
    }
    const sns = yield* truth("sns")
    const s3Event = yield* truth("s3_event")
    const tags = yield* Result.mapError(
      readTags(value("tags") ?? "{}"),
      () => "has a property tags that is no JSON object of texts"
    )
    const limit = value("jq_time_limit") ?? String(defaultJqTimeLimitMillis)
    if (!/^[1-9]\d{0,6}$/u.test(limit)) {
      return yield* Result.fail("has a property jq_time_limit that is no number of milliseconds above 0")
    }
    return { sns, s3Event, tags, jqTimeLimitMillis: Number(limit) }
  })
