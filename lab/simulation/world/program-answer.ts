/**
 * Puts the answers that a session's local program gets from the remote side into words, for transcripts and
 * expectations. Other events are worded in `../story/describe-event.ts`.
 */

import type { ResponseError } from "../../../src/domain/protocol/response-error.ts"
import type { ClientEvent } from "../../client/client-output.ts"
import { branchEngineWords, databaseFacts } from "./source-databases.ts"

const decoder = new TextDecoder()
/** Longer answers are bulk data that no reader wants to see. */
const maxText = 60

const textOf = (bytes: Uint8Array): string | undefined =>
  bytes.length > maxText ? undefined : JSON.stringify(decoder.decode(bytes))
const errorOf = (error: ResponseError): string =>
  JSON.stringify(error, (_, value: unknown) => (typeof value === "bigint" ? Number(value) : value))

/** The host in a URL. */
const hostOf = (url: string): string => /@([^:/]*)/.exec(url)?.[1] ?? "nowhere"

const environmentText = (variables: ReadonlyMap<string, string>): string => {
  const databases = branchEngineWords.flatMap((engine) => {
    const { variable } = databaseFacts[engine]
    const url = variables.get(variable)
    return url === undefined ? [] : [`${variable} at ${hostOf(url)}`]
  })
  const cluster = variables.get("CLUSTER")
  const whole = cluster === undefined && databases.length > 0 ? [] : [`env of ${cluster ?? "nowhere"}`]
  return [...whole, ...databases].join(", ")
}

/** The program's answer in words, such as `env of a`; undefined for events that are no such answer. */
export const programAnswer = (event: ClientEvent): string | undefined => {
  switch (event._tag) {
    case "Env":
      return event.result._tag === "Ok" ? environmentText(event.result.value) : `no env: ${errorOf(event.result.error)}`
    case "FileAnswered": {
      const { response } = event
      if (response._tag === "Open")
        return response.value._tag === "Ok" ? undefined : `no file: ${errorOf(response.value.error)}`
      if (response._tag !== "Read") return undefined
      return response.value._tag === "Ok"
        ? textOf(response.value.value.bytes)
        : `no file: ${errorOf(response.value.error)}`
    }
    case "Resolved":
      return event.result._tag === "Ok"
        ? `${event.node} is ${event.result.value.map(({ ip, name }) => `${ip} (${name})`).join(", ")}`
        : `no address of ${event.node}: ${errorOf(event.result.error)}`
    case "Connected":
      return event.result._tag === "Ok" ? "connected" : `not connected: ${errorOf(event.result.error)}`
    case "OutgoingData":
      return textOf(event.bytes)
    default:
      return undefined
  }
}
