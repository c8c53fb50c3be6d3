/** A session of mirrord's own client that serves the workload's requests, for tests of what disturbs it. */

import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "vitest"
import { eventually } from "../support/eventually.ts"
import { until } from "../support/until.ts"
import { type AnyRealPlayground, type Binaries, request, runClient, type RunningCommand } from "./harness.ts"
import { parentNames, readySession } from "./sessions.ts"

/** An application under `mirrord exec` that answers the requests of its own user, in every workload cluster. */
export interface ServedSession {
  /** Value of the header `x-user` of the requests that it steals. */
  readonly user: string
  readonly home: string
  readonly app: RunningCommand
  /** Name of the parent. */
  readonly parent: string
  /** Number of times that the client has connected and subscribed again. */
  readonly returns: () => number
  /** Log of the client's internal proxy. */
  readonly log: () => string
}

export interface ServedSessionOptions {
  readonly user: string
  /** A new one unless given. */
  readonly home?: string
  /** The playground's unless given. */
  readonly kubeconfig?: string
  /** Whether the client is to stay connected, whatever happens. Otherwise it notices soon that nobody answers. */
  readonly stays?: boolean
  /** More options of `layer-app`. */
  readonly actions?: ReadonlyArray<string>
}

/**
 * Seconds between two pings of a client that is to notice soon that nobody answers, and of one that is to stay: the
 * client's default, because it takes its connection for lost after as long, and a loaded machine may be slow to
 * answer.
 */
const pingIntervals = { notices: 5, stays: 30 }

/** Starts a session, ready in every workload cluster. */
export const serve = async (
  real: AnyRealPlayground,
  { layerApp, mirrord }: Binaries<"layerApp" | "mirrord">,
  {
    actions = [],
    home = real.home("served"),
    kubeconfig = real.kubeconfig(),
    stays = false,
    user
  }: ServedSessionOptions
): Promise<ServedSession> => {
  const logFile = join(home, `${user}.log`)
  const config = join(home, `${user}.json`)
  const pingInterval = stays ? pingIntervals.stays : pingIntervals.notices
  const internalProxy = { ping_interval: pingInterval, log_level: "mirrord_intproxy=info", log_destination: logFile }
  writeFileSync(config, JSON.stringify({ internal_proxy: internalProxy }))
  const known = parentNames(real.playground())
  const steal = ["--steal", `80:^x-user: ${user}$`, "--respond", user]
  const app = runClient({
    file: mirrord,
    args: ["exec", "--target", "deployment/myapp", "-f", config, "--", layerApp, ...steal, ...actions],
    home,
    kubeconfig
  })
  expect(await app.waitForEvent("subscribed")).toMatchObject({ port: 80, ok: true })
  const { metadata } = await readySession(real, known)
  return {
    user,
    home,
    app,
    parent: metadata.name,
    returns: () => app.events().filter(({ event }) => event === "resubscribed").length,
    log: () => {
      try {
        return readFileSync(logFile, "utf8")
      } catch {
        return ""
      }
    }
  }
}

/** Waits until a request of the session's user that enters at this cluster is answered by the application. */
export const serves = (real: AnyRealPlayground, { app, user }: ServedSession, cluster: string): Promise<void> =>
  eventually(`${user} answers a request in ${cluster}`, async () => {
    expect(app.code(), app.stderr()).toBeUndefined()
    expect(await request(real.cluster(cluster).entry ?? "", "/served", { "x-user": user })).toBe(`${user} /served\n`)
  })

/** Waits until the client has connected again, more often than `before`. */
export const comesBack = ({ app, returns, user }: ServedSession, before: number): Promise<number> =>
  until(`the return of ${user}`, () => {
    expect(app.code(), app.stderr()).toBeUndefined()
    return returns() > before ? returns() : undefined
  })

/** Waits until the client has ended its application, and finds the sentence in the log of its internal proxy. */
export const endsWith = async ({ app, log }: ServedSession, sentence: RegExp): Promise<void> => {
  // layer-app ends with 3 when its session is lost.
  expect(await app.ended(), app.stderr()).toBe(3)
  await eventually("the reason in the internal proxy's log", () => expect(log()).toMatch(sentence))
}

/** Requests without a pause, in each workload cluster, that the application or the workload answers. */
export interface Traffic {
  /** Answers so far in a cluster, in their order; `none` for a connection that broke without an answer. */
  readonly answers: (cluster: string) => ReadonlyArray<"application" | "workload" | "none">
  readonly stop: () => Promise<void>
}

/**
 * Sends requests of the session's user to both clusters until it is stopped. An answer to another user's request is an
 * error, at once.
 */
export const traffic = (real: AnyRealPlayground, { user }: Pick<ServedSession, "user">): Traffic => {
  const end = new AbortController()
  const answers = new Map<string, Array<"application" | "workload" | "none">>()
  const errors: Array<string> = []
  const send = async (cluster: string, entry: string): Promise<void> => {
    const seen: Array<"application" | "workload" | "none"> = []
    answers.set(cluster, seen)
    for (let round = 0; !end.signal.aborted; round++) {
      const path = `/traffic-${round}`
      const answer = await request(entry, path, { "x-user": user }, end.signal).catch(() => undefined)
      if (end.signal.aborted) return
      if (answer === `${user} ${path}\n`) seen.push("application")
      else if (answer?.startsWith(`hello from ${cluster}: GET ${path}\n`) === true) seen.push("workload")
      else if (answer === undefined || answer.includes("the request was dropped")) seen.push("none")
      else errors.push(`${cluster} ${path}: ${answer}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  const senders = real
    .playground()
    .clusters.flatMap(({ description, entry }) => (entry === undefined ? [] : [send(description.name, entry)]))
  return {
    answers: (cluster) => answers.get(cluster) ?? [],
    stop: async () => {
      end.abort()
      await Promise.all(senders)
      expect(errors).toEqual([])
    }
  }
}
