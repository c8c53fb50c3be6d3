/**
 * Users' certificates of mirrord's own client that end, or whose authority is changed, between sessions and during one.
 */

import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeAll, expect, it } from "vitest"
import { parse, stringify } from "yaml"
import { secrets } from "../../lab/cluster/store/resource-refs.ts"
import { operatorNamespace } from "../../lab/playground/manifests.ts"
import { asObject, asString, at } from "../../src/domain/json.ts"
import { subnetOf } from "../address-plan.ts"
import { eventually } from "../support/eventually.ts"
import { until } from "../support/until.ts"
import { deleteObject } from "./cluster-writes.ts"
import { restartOperator } from "./disturbances.ts"
import { fleetIs } from "./fleet-health.ts"
import { describeReal, runClient, type RunningCommand, usePlayground } from "./harness.ts"
import { redated, validityOf } from "./redated-certificate.ts"
import { comesBack, endsWith, serve, serves, type ServedSession } from "./served-session.ts"
import { parents } from "./sessions.ts"

const authoritySecret = "mirrord-operator-user-authority"

describeReal("the real client and its user certificate", ["mirrord", "layerApp"], (binaries) => {
  const real = usePlayground({ topology: "management", subnet: subnetOf("real client, certificates") })
  const commands: Array<RunningCommand> = []
  beforeAll(() => fleetIs(real.playground()))
  afterEach(() => {
    for (const command of commands.splice(0)) command.stop()
  })

  const start = async (user: string, home: string): Promise<ServedSession> => {
    const session = await serve(real, binaries, { user, home })
    commands.push(session.app)
    return session
  }
  const succeeds = async (home: string): Promise<void> => {
    const args = ["exec", "--target", "deployment/myapp", "--", "env"]
    const env = runClient({ file: binaries.mirrord, args, home, kubeconfig: real.kubeconfig() })
    commands.push(env)
    expect(await env.ended(), env.stderr()).toBe(0)
  }
  const store = () => real.playground().primary.cluster.store
  const posts = (): number =>
    real
      .playground()
      .primary.cluster.callers()
      .filter(({ method, path }) => method === "POST" && path.includes("/mirrordclusteroperatorusercredentials")).length
  const ownerIds = (): ReadonlySet<string> => new Set(parents(real.playground()).map(({ spec }) => spec.owner.userId))

  /** The client's certificates by the fingerprint of their authority. */
  const stored = (home: string): Readonly<Record<string, unknown>> =>
    asObject(asObject(parse(readFileSync(join(home, ".mirrord", "credentials"), "utf8")))["credentials"])
  const certificateIn = (home: string): string => {
    const [certificate = ""] = Object.values(stored(home)).map((entry) => asString(at(entry, "certificate")) ?? "")
    return certificate
  }
  /** Gives the certificate in a home another end, as if it had been issued a year before. */
  const endAt = (home: string, end: number): void => {
    const file = join(home, ".mirrord", "credentials")
    const key = at(store().get(secrets, operatorNamespace, authoritySecret), "data", "tls.key")
    const keyPem = Buffer.from(asString(key) ?? "", "base64").toString()
    const credentials = Object.fromEntries(
      Object.entries(stored(home)).map(([fingerprint, entry]) => [
        fingerprint,
        { ...asObject(entry), certificate: redated(asString(at(entry, "certificate")) ?? "", keyPem, end) }
      ])
    )
    writeFileSync(file, stringify({ ...asObject(parse(readFileSync(file, "utf8"))), credentials }))
  }

  /**
   * A session whose certificate ends so many ms from now, and that end. A slow machine needs more time to start one;
   * the client of a session that begins too late renews its certificate.
   */
  const startWithEnd = async (home: string, lifetime: number): Promise<readonly [ServedSession, number]> => {
    endAt(home, Date.now() + lifetime)
    const given = certificateIn(home)
    const session = await start(`lives-${lifetime}`, home)
    if (certificateIn(home) === given) return [session, validityOf(given).until]
    session.app.stop()
    return await startWithEnd(home, lifetime * 2)
  }

  it("it has ended: the next command gets a new one by itself, for the same user", async () => {
    const home = real.home("ended")
    await succeeds(home)
    const before = posts()
    endAt(home, Date.now() - 60_000)
    await succeeds(home)
    expect(posts()).toBe(before + 1)
    expect(validityOf(certificateIn(home)).until).toBeGreaterThan(Date.now())
    await eventually("one owner of the commands' sessions", () => expect(ownerIds().size).toBe(1))
  })

  it("it ends during a session: the session lasts until it has to connect again", async () => {
    const home = real.home("ends")
    await succeeds(home)
    const [session, end] = await startWithEnd(home, 20_000)
    await until("the end of the certificate", () => (Date.now() > end ? true : undefined))
    await serves(real, session, "cluster-a")
    await restartOperator(real, "primary")
    await endsWith(session, /the user certificate is valid from .* only; run the command again/i)
    await succeeds(home)
  })

  it("the authority is changed: sessions last until they connect again, commands get a new one", async () => {
    const home = real.home("authority")
    const session = await start("authority", home)
    await restartOperator(real, "primary")
    await comesBack(session, 0)
    await deleteObject(real.playground().primary.cluster, secrets, operatorNamespace, authoritySecret)
    await restartOperator(real, "primary")
    await endsWith(session, /the user certificate was not issued by this operator/i)
    const before = posts()
    await succeeds(home)
    expect(posts()).toBe(before + 1)
    expect(Object.keys(stored(home))).toHaveLength(2)
  })
})
