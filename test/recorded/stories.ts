/** The commands that are recorded: a file for each story, in which one command follows the other. */

import { unservedBranches, unservedQueues } from "../real/unserved-settings.ts"

export interface Step {
  /** Words behind `mirrord`; layer-app is the program. Names in <> are those of `Placeholders`. */
  readonly command: string
  /** The client's mirrord.json, beside what all have. */
  readonly config?: object
  /** The cluster whose operator is asked past the primary. */
  readonly at?: string
  /** For a command that does not end by itself: a text that it hears before it is ended. */
  readonly until?: string
  /** Whether it goes on beside the further steps instead. */
  readonly stays?: true
  /** Whether it ends what has stayed. */
  readonly ends?: true
}

const exec = (target: string, actions = "--env DB_HOST"): string => `exec -t ${target} -- layer-app ${actions}`
const files = "--read /etc/myapp/settings.txt --read /none"
const lookups = "--resolve myapp"
const subscriptions = "--mirror 7000 --steal 80:^x-user:.ann$"
const sent = { feature: { network: { incoming: { mode: "steal", http_filter: { header_filter: "^x-user: ann$" } } } } }

export const stories: Readonly<Record<string, ReadonlyArray<Step>>> = {
  sessions: [
    { command: "operator status" },
    { command: "operator status", at: "cluster-b" },
    { command: "session list" },
    { command: "operator session stop --all" },
    {
      command: exec("deployment/myapp", `${subscriptions} --resolve myapp`),
      stays: true,
      until: "GetAddrInfoResponse"
    },
    { command: "operator status" },
    { command: "session list" },
    { command: "session list -A --key recorded" },
    { command: "operator session retain-active" },
    { command: "session stop none" },
    { command: "operator session stop --id 404" },
    { command: "operator session stop --id <session 1, hex>", ends: true }
  ],
  "one-cluster": [
    { command: exec("deployment/myapp", `${files} ${lookups}`), at: "cluster-b" },
    { command: exec("label/app=myapp"), at: "cluster-b" },
    { command: exec("targetless"), at: "cluster-b" }
  ],
  exec: [
    { command: exec("deployment/myapp", `${files} ${lookups}`) },
    { command: exec("deployment/myapp/container/myapp") },
    { command: exec("service/myapp") },
    { command: exec("targetless") }
  ],
  incoming: [
    { command: "dump -t deployment/myapp -p 80", until: "SubscribeResult" },
    { command: "port-forward -t deployment/myapp -R 80:9", config: sent, until: "SubscribeResult" },
    { command: "subscribe --key recorded", until: "<stream>" },
    { command: "diagnose latency" }
  ],
  ci: [{ command: "ci api-key" }],
  refusals: [
    ...["deployment", "statefulset", "replicaset", "rollout", "pod", "job", "cronjob"].map((kind) => `${kind}/nope`),
    "deployment/myapp/container/sidecar",
    "deployment/myapp --target-namespace nowhere"
  ].map((target) => ({ command: exec(target) })),
  policies: [
    { command: exec("deployment/guarded") },
    { command: exec("deployment/calm", `${files} --resolve myapp --steal 80`) }
  ],
  queues: [
    { command: "queues status" },
    ...unservedQueues.map(({ config }) => ({ command: exec("deployment/myapp"), config }))
  ],
  branches: [
    ...unservedBranches.map(({ config }) => ({ command: exec("deployment/myapp"), config })),
    { command: "db-branches status" },
    { command: "preview status" }
  ],
  // The last, as the lists of copies would hold it.
  copies: [{ command: exec("deployment/myapp"), config: { feature: { copy_target: true } } }]
}
