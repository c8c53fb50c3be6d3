import { execFile } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, readFileSync } from "node:fs"
import type { IncomingMessage } from "node:http"
import * as https from "node:https"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { promisify } from "node:util"
import { Effect } from "effect"
import { expect, it } from "vitest"
import { pods } from "../../lab/cluster/store/resource-refs.ts"
import { processesWith } from "../../lab/playground/branches/home-processes.ts"
import { chartFolder } from "../../lab/playground/kubernetes/programs.ts"
import { operatorNamespace } from "../../lab/playground/manifests.ts"
import { startNodeCluster } from "../../lab/playground/node/node-cluster.ts"
import { asObjects, asString, at } from "../../src/domain/json.ts"
import { describeWith } from "../support/describe-with.ts"
import { eventually } from "../support/eventually.ts"
import { runBraid } from "../support/run-braid.ts"
import { until } from "../support/until.ts"
import { exceedMemory } from "./exceed-memory.ts"
import { kubectl, useNodes } from "./nodes.ts"

/** A connection of its own with TLS, to a path that wants no certificate. */
const readyOver = async (port: number): Promise<void> => {
  const asked = https.get({ host: "127.0.0.1", port, path: "/livez", agent: false, rejectUnauthorized: false })
  const [answer] = (await once(asked, "response")) as [IncomingMessage]
  await text(answer)
}

/** The namespace of the release is the operator's, as helm wants it for the logs of tests. */
const intoOperatorNamespace = ["--namespace", operatorNamespace]

describeWith(["node", "control plane"], "the chart and the image of a release on a real node", () => {
  const nodes = useNodes((parts) =>
    Effect.map(startNodeCluster({ ...parts, name: "own", number: 1 }), (cluster) => ({ cluster, ...parts }))
  )
  const cluster = () => nodes.started().cluster
  const helm = async (...args: ReadonlyArray<string>): Promise<string> => {
    const { directory, programs } = nodes.started()
    const home = join(directory, "helm")
    mkdirSync(home, { recursive: true })
    const env = { HOME: home, KUBECONFIG: cluster().kubeconfigPath }
    return (await promisify(execFile)(programs.helm, [...args, ...intoOperatorNamespace], { env })).stdout
  }
  const operators = () =>
    cluster()
      .store.list(pods, { namespace: operatorNamespace })
      .items.filter(
        ({ metadata: { deletionTimestamp, name } }) =>
          deletionTimestamp === undefined && name?.startsWith("mirrord-operator-")
      )
  const operator = () => operators()[0]
  const processOf = (uid = ""): number => processesWith("OPERATOR_POD_UID", uid)[0] ?? 0
  const status = (pid: number): Readonly<Record<string, string>> =>
    Object.fromEntries(
      readFileSync(`/proc/${pid}/status`, "utf8")
        .split("\n")
        .map((line) => line.split(":\t") as [string, string])
    )
  const install = ["mirrord-operator", chartFolder, "--set", "createNamespace=false", "--wait"]

  it("become ready with no value set, and helm's test shows that all rights are there", async () => {
    await helm("install", ...install, "--create-namespace")
    await kubectl(
      cluster(),
      "wait",
      "--for=condition=Available",
      "apiservice/v1.operator.metalbear.co",
      "--timeout=300s"
    )
    const said = await helm("test", "mirrord-operator", "--logs")
    expect(said).toMatch(/Phase:\s+Succeeded/u)
    expect(said).toContain("POD LOGS: mirrord-doctor")
  })

  it("run as a user without any rights, with a root that cannot be written, within the chart's memory", async () => {
    const pid = processOf(operator()?.metadata.uid)
    const { CapBnd, CapEff, CapPrm, NoNewPrivs, Seccomp, Uid } = status(pid)
    expect({ CapEff, CapPrm, CapBnd }).toEqual({
      CapEff: "0".repeat(16),
      CapPrm: "0".repeat(16),
      CapBnd: "0".repeat(16)
    })
    expect({ NoNewPrivs, Seccomp }).toEqual({ NoNewPrivs: "1", Seccomp: "2" })
    expect(Uid?.split("\t")).not.toContain("0")
    const [, , , , , options = ""] =
      /^(\S+ )(\S+ )(\S+ )(\S+ )\/ (\S+)/mu.exec(readFileSync(`/proc/${pid}/mountinfo`, "utf8")) ?? []
    expect(options.split(",")).toContain("ro")
    const group = /:memory:(.*)$/mu.exec(readFileSync(`/proc/${pid}/cgroup`, "utf8"))?.[1] ?? ""
    const limit = Number(readFileSync(join("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"), "utf8"))
    const asked = await kubectl(
      cluster(),
      ...["get", "deployment/mirrord-operator", ...intoOperatorNamespace],
      "--output=jsonpath={.spec.template.spec.containers[0].resources.limits.memory}"
    )
    expect(`${limit / 1_048_576}Mi`).toBe(asked)
  })

  it("are started again in their pod when they outgrow their memory, which kubectl and braid say", async () => {
    const before = operator()
    const uid = before?.metadata.uid
    const [pid, host] = [processOf(uid), asString(at(before, "status", "podIP")) ?? ""]
    const port = await cluster().world.forward({ host, port: 443 })
    await exceedMemory(pid, () => readyOver(port))
    const status = await until("the next run of the container", () => {
      const [found] = asObjects(at(operator(), "status", "containerStatuses"))
      return found?.["restartCount"] === 1 && found["ready"] === true ? found : undefined
    })
    // `Error` where containerd has seen the end before it saw the reason.
    const reason: unknown = expect.stringMatching(/^(OOMKilled|Error)$/u)
    expect(at(status, "lastState", "terminated")).toMatchObject({ reason, exitCode: 137 })
    expect(operator()?.metadata.uid).toBe(uid)
    await eventually("the API of the operator", () =>
      kubectl(cluster(), "get", "--raw", "/apis/operator.metalbear.co/v1")
    )
    const kubeconfig = ["--kubeconfig", cluster().kubeconfigPath]
    const last = await runBraid(["logs", "--previous", ...kubeconfig])
    expect(last).toMatchObject({ code: 0, output: expect.stringContaining(operator()?.metadata.name ?? "") })
    expect(await runBraid(["status", ...kubeconfig])).toMatchObject({ code: 0 })
  })

  it("stay as they are when too little memory is given past the chart, which the next pod's log says", async () => {
    const uid = operator()?.metadata.uid
    const memory = ["--limits=memory=64Mi", "--requests=memory=64Mi"]
    await kubectl(cluster(), "set", "resources", "deployment/mirrord-operator", ...intoOperatorNamespace, ...memory)
    const next = await until("the end of the next pod's first run", () =>
      operators().find(
        (pod) =>
          pod.metadata.uid !== uid &&
          asObjects(at(pod, "status", "containerStatuses")).some(({ restartCount }) => Number(restartCount) > 0)
      )
    )
    const log = ["logs", next.metadata.name ?? "", ...intoOperatorNamespace, "--previous"]
    expect(await kubectl(cluster(), ...log)).toContain("the memory limit of this container is 64 MiB")
    expect(operators().map(({ metadata }) => metadata.uid)).toContain(uid)
    await kubectl(cluster(), "get", "--raw", "/apis/operator.metalbear.co/v1")
  })

  it("are upgraded to replicas with agents' TLS, rolled back, and removed with all that they made", async () => {
    const before = operator()?.metadata.uid
    await helm("upgrade", ...install, "--set", "operator.replicas=2,agent.tls=true,operator.metrics=true")
    const ready = "--output=jsonpath={.status.readyReplicas}"
    expect(await kubectl(cluster(), "get", "deployment/mirrord-operator", ...intoOperatorNamespace, ready)).toBe("2")
    await helm("rollback", "mirrord-operator", "1", "--wait")
    // The leader of two replicas has gone with its pod.
    await eventually("the API of the operator that leads now", () =>
      kubectl(cluster(), "get", "--raw", "/apis/operator.metalbear.co/v1")
    )
    expect(operator()?.metadata.uid).not.toBe(before)
    await helm("uninstall", "mirrord-operator", "--wait")
    // Pods of hooks that have ended stay, as with every chart.
    const runs = (pod: object): boolean => at(pod, "status", "phase") !== "Succeeded"
    await until("the end of all pods", () =>
      cluster().store.list(pods, { namespace: operatorNamespace }).items.some(runs) ? undefined : true
    )
    const kinds = "clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingadmissionpolicies"
    const left = await kubectl(cluster(), "get", kinds, "--output=name")
    expect(left.split("\n").filter((name) => /mirrord|metalbear/u.test(name))).toEqual([])
    // Custom resources stay, and with them the APIServices that the API server makes for their groups.
    const api = ["apiservice", "v1.operator.metalbear.co", "--ignore-not-found", "--output=name"]
    expect(await kubectl(cluster(), "get", ...api)).toBe("")
  })
})
