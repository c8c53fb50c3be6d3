/** The language of stories: the list of its verbs. Each verb has its own file in `verbs/`. */

import type { Verb } from "./verb.ts"
import { agents } from "./verbs/agents.ts"
import { authenticate } from "./verbs/authenticate.ts"
import { branch } from "./verbs/branch.ts"
import { branches } from "./verbs/branches.ts"
import { canary } from "./verbs/canary.ts"
import { claim } from "./verbs/claim.ts"
import { cluster } from "./verbs/cluster.ts"
import { configure } from "./verbs/configure.ts"
import { connectAs } from "./verbs/connect-as.ts"
import { connect } from "./verbs/connect.ts"
import { copy } from "./verbs/copy.ts"
import { crash } from "./verbs/crash.ts"
import { cut } from "./verbs/cut.ts"
import { database } from "./verbs/database.ts"
import { deleteSession } from "./verbs/delete.ts"
import { engine } from "./verbs/engine.ts"
import { env } from "./verbs/env.ts"
import { ephemeral } from "./verbs/ephemeral.ts"
import { errors } from "./verbs/errors.ts"
import { expect } from "./verbs/expect.ts"
import { flood } from "./verbs/flood.ts"
import { found } from "./verbs/found.ts"
import { heal } from "./verbs/heal.ts"
import { identity } from "./verbs/identity.ts"
import { images } from "./verbs/images.ts"
import { kill } from "./verbs/kill.ts"
import { kubectl } from "./verbs/kubectl.ts"
import { latency } from "./verbs/latency.ts"
import { leader } from "./verbs/leader.ts"
import { leave } from "./verbs/leave.ts"
import { maker } from "./verbs/maker.ts"
import { meddle } from "./verbs/meddle.ts"
import { mirror } from "./verbs/mirror.ts"
import { node } from "./verbs/node.ts"
import { pause } from "./verbs/pause.ts"
import { ping } from "./verbs/ping.ts"
import { pods } from "./verbs/pods.ts"
import { policy } from "./verbs/policy.ts"
import { primary } from "./verbs/primary.ts"
import { provide } from "./verbs/provide.ts"
import { read } from "./verbs/read.ts"
import { replicas } from "./verbs/replicas.ts"
import { request } from "./verbs/request.ts"
import { reset } from "./verbs/reset.ts"
import { resolve } from "./verbs/resolve.ts"
import { restart } from "./verbs/restart.ts"
import { resume } from "./verbs/resume.ts"
import { comeBack } from "./verbs/return.ts"
import { rollout } from "./verbs/rollout.ts"
import { rotate } from "./verbs/rotate.ts"
import { session } from "./verbs/session.ts"
import { settle } from "./verbs/settle.ts"
import { sharding } from "./verbs/sharding.ts"
import { silence } from "./verbs/silence.ts"
import { skew } from "./verbs/skew.ts"
import { slow } from "./verbs/slow.ts"
import { stale } from "./verbs/stale.ts"
import { start } from "./verbs/start.ts"
import { steal } from "./verbs/steal.ts"
import { stop } from "./verbs/stop.ts"
import { swizzle } from "./verbs/swizzle.ts"
import { tick } from "./verbs/tick.ts"
import { timeout } from "./verbs/timeout.ts"
import { token } from "./verbs/token.ts"
import { tokens } from "./verbs/tokens.ts"
import { ttl } from "./verbs/ttl.ts"
import { unsubscribe } from "./verbs/unsubscribe.ts"
import { watch } from "./verbs/watch.ts"
import { withdraw } from "./verbs/withdraw.ts"
import { workload } from "./verbs/workload.ts"

/** Every verb, in the order of the docs. */
export const verbs: ReadonlyArray<Verb> = [
  cluster,
  primary,
  replicas,
  sharding,
  ephemeral,
  tokens,
  authenticate,
  found,
  workload,
  branches,
  start,
  ttl,
  timeout,
  ping,
  session,
  connectAs,
  copy,
  branch,
  steal,
  mirror,
  unsubscribe,
  request,
  env,
  read,
  resolve,
  connect,
  flood,
  tick,
  settle,
  expect,
  leave,
  kill,
  deleteSession,
  cut,
  heal,
  reset,
  silence,
  slow,
  latency,
  swizzle,
  crash,
  pause,
  resume,
  comeBack,
  leader,
  rollout,
  skew,
  stop,
  restart,
  errors,
  watch,
  stale,
  agents,
  images,
  pods,
  canary,
  node,
  kubectl,
  meddle,
  database,
  engine,
  policy,
  configure,
  token,
  rotate,
  maker,
  provide,
  withdraw,
  identity,
  claim
]
