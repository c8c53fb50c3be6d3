/**
 * mirrord's own client in clusters with policies: what is forbidden, how the user hears of it, and that a policy which
 * goes away forbids nothing any more.
 */

import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeAll, expect, it } from "vitest"
import { at } from "../../src/domain/json.ts"
import { subnetOf } from "../address-plan.ts"
import { eventually } from "../support/eventually.ts"
import { applyObjects, deleteObject } from "./cluster-writes.ts"
import { fleetIs } from "./fleet-health.ts"
import { describeReal, runClient, type RunningCommand, usePlayground } from "./harness.ts"
import { refusalText } from "./refusal.ts"
import { nothingLeft } from "./sessions.ts"

const target = ["--target", "deployment/myapp"] as const
const policies = { group: "policies.mirrord.metalbear.co", version: "v1alpha", resource: "mirrordpolicies" }
const profiles = { group: "profiles.mirrord.metalbear.co", version: "v1alpha" }

describeReal("the real client, policies", ["mirrord", "layerApp"], ({ layerApp, mirrord }) => {
  const real = usePlayground({
    topology: "management",
    refusesSessions: true,
    agentIdleTtlSecs: 5,
    subnet: subnetOf("real client, policies")
  })
  const commands: Array<RunningCommand> = []
  const run = (args: ReadonlyArray<string>, home = real.home("policies")): RunningCommand => {
    const command = runClient({ file: mirrord, args, home, kubeconfig: real.kubeconfig() })
    commands.push(command)
    return command
  }
  /** The program under a session with the configuration. */
  const configured = (config: object, program: ReadonlyArray<string>): RunningCommand => {
    const home = real.home("configured")
    const file = join(home, "mirrord.json")
    writeFileSync(file, JSON.stringify(config))
    return run(["exec", ...target, "-f", file, "--", ...program], home)
  }
  const applied: Array<readonly [cluster: string, name: string]> = []
  /** Applies a policy. The operator hears of it by its watch, a moment later. */
  const apply = async (cluster: string, name: string, spec: object): Promise<void> => {
    const object = {
      apiVersion: `${policies.group}/${policies.version}`,
      kind: "MirrordPolicy",
      metadata: { name, namespace: "default" },
      spec: { block: [], ...spec }
    }
    await applyObjects(real.cluster(cluster).cluster, JSON.stringify(object))
    applied.push([cluster, name])
  }
  /** Runs a command again until its outcome shows the policy. */
  const untilIt = <A>(what: string, act: () => Promise<A | undefined>): Promise<A> =>
    eventually(what, async () => {
      const found = await act()
      if (found === undefined) throw new Error(`not yet: ${what}`)
      return found
    })

  beforeAll(() => fleetIs(real.playground()))
  afterEach(async () => {
    for (const command of commands.splice(0)) command.stop()
    for (const [cluster, name] of applied.splice(0))
      await deleteObject(real.cluster(cluster).cluster, policies, "default", name)
  })

  it.each(["cluster-a", "cluster-b"])("a steal that %s forbids is refused with the policy", async (cluster) => {
    await apply(cluster, "calm", { block: ["steal"], targetPath: "deploy/*" })
    const subscribed = await untilIt("a steal that is refused", async () => {
      const app = run(["exec", ...target, "--", layerApp, "--steal", "80"])
      const event = await app.waitForEvent("subscribed")
      app.stop()
      return event["ok"] === true ? undefined : event
    })
    expect(String(subscribed["ok"])).toContain("Stealing traffic from port 80 is forbidden by the mirrord policy")
    expect(String(subscribed["ok"])).toContain('"calm"')
    expect(String(subscribed["ok"])).toContain("it blocks stealing")
  })

  it("variables that the default cluster keeps are not in the program's environment", async () => {
    await apply("cluster-a", "quiet", { env: { exclude: ["DB_*"] } })
    const output = await untilIt("an environment without the variable", async () => {
      const env = run(["exec", ...target, "--", "env"])
      expect(await env.ended(), env.stderr()).toBe(0)
      return env.stdout().includes("DB_HOST=") ? undefined : env.stdout()
    })
    expect(output).toContain("CLUSTER=cluster-a")
  })

  it("a file that the default cluster hides is not found, and others are read", async () => {
    await apply("cluster-a", "hidden", { fs: { notFound: ["^/etc/myapp/settings"] } })
    const file = await untilIt("a file that is not found", async () => {
      const app = run(["exec", ...target, "--", layerApp, "--read", "/etc/myapp/settings.txt"])
      const event = await app.waitForEvent("file")
      return event["error"] === undefined ? undefined : event
    })
    expect(String(file["error"])).toMatch(/NotFound|No such file/)
    const other = run(["exec", ...target, "--", layerApp, "--read", "/etc/hostname"])
    expect((await other.waitForEvent("file"))["error"]).toBeUndefined()
  })

  it("a connection that the default cluster forbids is refused with the policy's name", async () => {
    await apply("cluster-a", "inside", {
      network: { outgoing: { block: [{ ports: [{ port: 7000, protocol: "TCP" }] }] } }
    })
    const home = real.home("connects")
    const log = join(home, "internal-proxy.log")
    const config = join(home, "mirrord.json")
    const internalProxy = { log_level: "mirrord_intproxy=debug", log_destination: log }
    writeFileSync(config, JSON.stringify({ internal_proxy: internalProxy }))
    const event = await untilIt("a connection that is refused", async () => {
      const app = run(["exec", ...target, "-f", config, "--", layerApp, "--connect", "myapp:7000"], home)
      const connected = await app.waitForEvent("connect")
      return connected["error"] === undefined ? undefined : connected
    })
    // The program is told that it is connected before the answer comes, so it sees a reset alone.
    expect(String(event["error"])).toContain("Connection reset by peer")
    await eventually("the warning in the internal proxy's log", async () =>
      expect(readFileSync(log, "utf8")).toMatch(
        /the mirrord policy .{0,2}"inside.{0,2}" forbids a connection to [0-9.]+ port 7000/
      )
    )
  })

  it("a session without the profile that the default cluster wants is refused before its program", async () => {
    await apply("cluster-a", "tidy", { requireProfile: true })
    const text = await untilIt("a refusal", async () => {
      const env = run(["exec", ...target, "--", "env"])
      return (await env.ended()) === 0 ? undefined : refusalText(env)
    })
    expect(text).toContain("wants every session with this target to use a profile")
    expect(text).toContain("mirrord operator rejected creating a websocket connection")
  })

  it.each([
    ["MirrordProfile", "default/calm", "mirrordprofiles", "default"],
    ["MirrordClusterProfile", "calm", "mirrordclusterprofiles", ""]
  ] as const)(
    "a session with a %s that the default cluster allows has it, and another one is refused",
    async (kind, allowed, resource, namespace) => {
      const { cluster } = real.playground().primary
      const profile = (name: string, change: string): string =>
        JSON.stringify({
          apiVersion: `${profiles.group}/${profiles.version}`,
          kind,
          metadata: { name, ...(namespace === "" ? {} : { namespace }) },
          spec: { featureAdjustments: [{ change }] }
        })
      const other = allowed.replace("calm", "other")
      await applyObjects(cluster, profile("calm", "incoming-off"))
      await applyObjects(cluster, profile("other", "incoming-mirror"))
      await apply("cluster-a", "tidy", { requireProfile: true, profileAllowlist: [allowed] })
      const refusal = await untilIt("a refusal", async () => {
        const env = configured({ profile: other }, ["env"])
        return (await env.ended()) === 0 ? undefined : refusalText(env)
      })
      expect(refusal).toContain(`does not allow profile "${other}" for this target (allowed: "${allowed}")`)
      const incoming = { mode: "steal" }
      const app = configured({ profile: allowed, feature: { network: { incoming } } }, ["env"])
      expect(await app.ended(), app.stderr()).toBe(0)
      expect(app.stdout()).toContain("CLUSTER=cluster-a")
      // The client has applied it to the configuration that its layer gets.
      expect(incomingModeOf(app.stdout())).toBe("off")
      for (const name of ["calm", "other"]) await deleteObject(cluster, { ...profiles, resource }, namespace, name)
    }
  )

  it("an unfiltered steal is refused where a filter is wanted, and a filtered one is not", async () => {
    await apply("cluster-a", "filtered", { network: { incoming: { httpFilter: { headerFilter: "^x-user: .+" } } } })
    await untilIt("a steal that is refused", async () => {
      const app = run(["exec", ...target, "--", layerApp, "--steal", "80"])
      const event = await app.waitForEvent("subscribed")
      app.stop()
      return event["ok"] === true ? undefined : event
    })
    const app = run(["exec", ...target, "--", layerApp, "--steal", "80:^x-user: ann$"])
    expect((await app.waitForEvent("subscribed"))["ok"]).toBe(true)
  })

  it("leaves nothing", async () => {
    await nothingLeft(real)
  })
})

/** `feature.network.incoming.mode` of the configuration that the client gives its layer, in a program's environment. */
const incomingModeOf = (environment: string): unknown => {
  const [, resolved = ""] = /^MIRRORD_RESOLVED_CONFIG=(.*)$/mu.exec(environment) ?? []
  return at(JSON.parse(Buffer.from(resolved, "base64").toString()), "feature", "network", "incoming", "mode")
}
