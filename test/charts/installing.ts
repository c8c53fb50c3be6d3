/** Installs the chart on a real control plane, which has the kinds of others that values use. */

import { execFile } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect } from "vitest"
import { stringify } from "yaml"
import type { Programs } from "../../lab/playground/kubernetes/programs.ts"
import { type ControlPlane, startControlPlane } from "../kubernetes/control-plane.ts"
import { ApiClient } from "../lab/cluster/api-client.ts"
import { Chart, chartFolder, type Rendered } from "./chart.ts"
import { asList, at } from "./json.ts"

/** A kind of somebody else's that samples use, with any content. */
const foreignKind = (
  group: string,
  version: string,
  kind: string,
  plural: string,
  scope: "Cluster" | "Namespaced"
): object => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope,
    names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
      }
    ]
  }
})

/** A control plane with the kinds of others that values name. */
export const startChartPlane = async (assets: string): Promise<ControlPlane> => {
  const plane = await startControlPlane({ name: "chart", assets })
  await plane.apply(
    [
      foreignKind("cert-manager.io", "v1", "Certificate", "certificates", "Namespaced"),
      foreignKind("cert-manager.io", "v1", "Issuer", "issuers", "Namespaced"),
      foreignKind("secrets-store.csi.x-k8s.io", "v1", "SecretProviderClass", "secretproviderclasses", "Namespaced"),
      foreignKind("security.openshift.io", "v1", "SecurityContextConstraints", "securitycontextconstraints", "Cluster")
    ]
      .map((object) => stringify(object))
      .join("---\n")
  )
  return plane
}

/** Runs a program with the plane's kubeconfig; its standard output. */
export const execute = async (
  { directory, kubeconfigPath }: ControlPlane,
  program: string,
  ...args: ReadonlyArray<string>
): Promise<string> =>
  (
    await promisify(execFile)(program, [...args], {
      env: { ...process.env, KUBECONFIG: kubeconfigPath, KUBECACHEDIR: join(directory, "kube-cache") },
      maxBuffer: 16 * 1024 * 1024
    })
  ).stdout

/** Kinds of a release, of which nothing may stay. */
const kinds = [
  ...["clusterroles", "clusterrolebindings", "roles", "rolebindings"].map(
    (kind) => `/apis/rbac.authorization.k8s.io/v1/${kind}`
  ),
  ...["validatingadmissionpolicies", "validatingadmissionpolicybindings"].map(
    (kind) => `/apis/admissionregistration.k8s.io/v1/${kind}`
  )
]

/** Makes the namespaces that a render takes for given: the chart makes the operator's, if the values let it. */
const giveNamespaces = async (admin: ApiClient, rendered: Rendered): Promise<void> => {
  const named = rendered.objects.flatMap((object) => at(object, "metadata", "namespace") ?? []).map(String)
  for (const name of new Set(named)) {
    if (rendered.find("Namespace", name) !== undefined) continue
    const { code } = await admin.call("POST", "/api/v1/namespaces", { body: { metadata: { name } } })
    expect([201, 409]).toContain(code)
  }
}

/**
 * Has the server judge every object of these renders, hooks included, without making any; what several of them have is
 * judged once. No render has two objects of one name, of which helm would refuse the second.
 */
export const judgeAll = async (
  plane: ControlPlane,
  { kubectl }: Programs,
  renders: ReadonlyArray<Rendered>
): Promise<void> => {
  const admin = new ApiClient(plane.server, plane.caPem, plane.admin)
  for (const { names } of renders) expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  const objects = renders.flatMap((rendered) => rendered.objects)
  const items = [...new Map(objects.map((object) => [JSON.stringify(object), object])).values()]
  // The server looks for the namespace of an object also where it makes nothing.
  for (const namespace of new Set(objects.map((object) => at(object, "metadata", "namespace")))) {
    const { code } = await admin.call("POST", "/api/v1/namespaces", { body: { metadata: { name: namespace } } })
    if (namespace !== undefined) expect([201, 409]).toContain(code)
  }
  const file = join(plane.directory, "judged.json")
  await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }))
  await execute(plane, kubectl, "apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", file)
}

/** Installs a release with a file of values, has the server judge its hooks, and uninstalls it: nothing stays. */
export const installAndUninstall = async (
  plane: ControlPlane,
  { helm, kubectl }: Programs,
  values: string
): Promise<void> => {
  const admin = new ApiClient(plane.server, plane.caPem, plane.admin)
  const codeOf = async (method: string, path: string, body?: object): Promise<number> =>
    (await admin.call(method, path, body === undefined ? {} : { body })).code
  const rendered = await new Chart(helm).render({ args: ["--values", values] })
  const namespace = String(at(rendered.get("Deployment", "mirrord-operator"), "metadata", "namespace"))
  await giveNamespaces(admin, rendered)
  try {
    expect(await execute(plane, helm, "install", "braid", chartFolder, "--values", values)).toMatch(
      /STATUS: deployed[^]*NOTES:/u
    )
    // Their pods would not run here.
    const hooks = join(plane.directory, "hooks.yaml")
    await writeFile(hooks, await execute(plane, helm, "get", "hooks", "braid"))
    await execute(plane, kubectl, "create", "--dry-run=server", "-f", hooks)
  } finally {
    await execute(plane, helm, "uninstall", "braid", "--no-hooks", "--ignore-not-found")
    // Without the five seconds that a namespace's controller would wait first. Objects in there that helm has not
    // deleted are nobody's.
    expect([200, 404]).toContain(await codeOf("DELETE", `/api/v1/namespaces/${namespace}`))
    const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace }, spec: { finalizers: [] } }
    expect([200, 404]).toContain(await codeOf("PUT", `/api/v1/namespaces/${namespace}/finalize`, body))
  }
  for (const path of [...kinds, "/apis/apiregistration.k8s.io/v1/apiservices"]) {
    const { code, text } = await admin.call("GET", `${path}?labelSelector=app.kubernetes.io/instance=braid`)
    expect([code, code === 200 ? "" : text]).toEqual([200, ""])
    expect(asList(at(JSON.parse(text) as unknown, "items")).map((item) => at(item, "metadata", "name"))).toEqual([])
  }
}
