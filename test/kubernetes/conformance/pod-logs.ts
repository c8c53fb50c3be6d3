import { expect } from "vitest"
import { type ConformanceCase, type Context, expectStatus } from "./context.ts"

/** Asks for the log of a pod with two containers that no node runs. Real lines need a kubelet, which answers them. */
const asked = async ({ admin, namespace }: Context, query: string, pod = "p") => {
  const pods = `/api/v1/namespaces/${namespace}/pods`
  const containers = ["a", "b"].map((name) => ({ name, image: "x" }))
  await admin.post(pods, { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: { containers } })
  return admin.get(`${pods}/${pod}/log${query}`)
}

const refused = (
  name: string,
  { pod, query }: { readonly query: string; readonly pod?: string },
  code: number,
  message: string
): ConformanceCase => ({
  name: `log of a pod: ${name}`,
  run: async (context) => {
    const reason = { 400: "BadRequest", 404: "NotFound", 422: "Invalid" }[code]
    expectStatus(await asked(context, query, pod), code, reason, message)
  }
})

export const podLogCases: ReadonlyArray<ConformanceCase> = [
  refused("an unknown pod", { query: "", pod: "q" }, 404, 'pods "q" not found'),
  refused(
    "one of several containers",
    { query: "" },
    400,
    "a container name must be specified for pod p, choose one of: [a b]"
  ),
  refused("an unknown container", { query: "?container=c" }, 400, "container c is not valid for pod p"),
  refused(
    "a time span that is none",
    { query: "?container=a&sinceSeconds=0" },
    422,
    'PodLogOptions "p" is invalid: sinceSeconds: Invalid value: 0: must be greater than 0'
  ),
  refused(
    "a time and a time span",
    { query: "?container=a&sinceSeconds=5&sinceTime=2026-01-02T03:04:05Z" },
    422,
    'PodLogOptions "p" is invalid: []: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified'
  ),
  refused(
    "fewer lines than none",
    { query: "?container=a&tailLines=-1" },
    422,
    'PodLogOptions "p" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0'
  ),
  {
    name: "log of a pod: a pod without a node has none, which is no error",
    run: async (context) => {
      const { code, text } = await asked(context, "?container=a&timestamps=true&previous=true")
      expect([code, text]).toEqual([204, ""])
    }
  },
  {
    name: "log of a pod: another right is none to read logs",
    run: async (context) => {
      const { as, namespace } = context
      const user = `eve-${namespace}`
      const eve = await as(user)
      expectStatus(
        await eve.get(`/api/v1/namespaces/${namespace}/pods/p/log`),
        403,
        "Forbidden",
        `pods "p" is forbidden: User "${user}" cannot get resource "pods/log" in API group "" in the namespace ` +
          `"${namespace}"`
      )
    }
  }
]
