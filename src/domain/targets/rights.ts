/**
 * The rights for targets: the operator finds workloads and their pods, and developers list and connect to targets.
 *
 * Not here: rights on copies of targets (copies/rights.ts).
 */

import type { Right, RightCard } from "../catalogue/right.ts"
import { operatorGroup } from "../resources/operator-api.ts"

const here = (
  group: string,
  resources: ReadonlyArray<string>,
  verbs: ReadonlyArray<string>,
  without: string
): ReadonlyArray<Right> =>
  resources.map((resource) => ({ scope: "cluster", group, resource, verbs, when: ["workloads"], without }))

const noTarget = "targets of that kind are not found"
const noList = "`kubectl get targets` fails"

const operator: ReadonlyArray<Right> = [
  ...here("", ["pods"], ["get", "list"], "no target's pods are found"),
  ...here(
    "",
    ["pods"],
    ["watch"],
    "new pods of a target are taken in up to 30 s later, and no copy and no branch is followed"
  ),
  ...here("", ["services"], ["get"], noTarget),
  ...here("apps", ["deployments", "replicasets", "statefulsets"], ["get"], noTarget),
  ...here("argoproj.io", ["rollouts"], ["get"], noTarget),
  ...here("", ["services"], ["list"], noList),
  ...here("apps", ["replicasets"], ["list"], noList),
  ...here("batch", ["jobs", "cronjobs"], ["list"], noList)
]

const reached: Pick<Right, "scope" | "group" | "resource"> = {
  scope: "cluster",
  group: operatorGroup,
  resource: "targets"
}

const link: ReadonlyArray<Right> = [
  { ...reached, verbs: ["proxy"], without: "no session can be attached to" },
  { ...reached, verbs: ["get", "list"], without: "its targets are not listed, if it is the default cluster" }
]

const inNamespace = (
  group: string,
  resources: ReadonlyArray<string>,
  verbs: ReadonlyArray<string>,
  without: string
): ReadonlyArray<Right> => resources.map((resource) => ({ scope: "target-namespace", group, resource, verbs, without }))

/** The client looks for workloads itself, at the API server. */
const noLocalList = "`mirrord ls` shows no targets of that kind, and label targets find no pods of it"

const developer: ReadonlyArray<Right> = [
  ...inNamespace(operatorGroup, ["targets"], ["proxy"], "no session begins in the namespace"),
  ...inNamespace(operatorGroup, ["targets"], ["get", "list"], noList),
  ...inNamespace(
    operatorGroup,
    ["targets/port-locks"],
    ["get", "list"],
    "older clients cannot see which ports are stolen"
  ),
  ...inNamespace("", ["pods", "services"], ["list"], noLocalList),
  ...inNamespace("apps", ["deployments", "replicasets", "statefulsets"], ["list"], noLocalList),
  ...inNamespace("batch", ["cronjobs", "jobs"], ["list"], noLocalList),
  ...inNamespace("argoproj.io", ["rollouts"], ["list"], noLocalList)
]

export const targetRights: RightCard = { operator, link, developer }
