/**
 * The reference agent as a program: alone on this machine (`npm run agent`), or in a container of the stand-in kubelet.
 * The running agent is in `agent.ts`.
 */

import { Effect, Result, type Scope } from "effect"
import type { AgentTarget } from "../cluster/node/agent-target.ts"
import { type ContainerContext, type ContainerProgram, signalsReady } from "../cluster/node/container-program.ts"
import { type AgentArguments, type AgentMode, parseAgentArguments, protocolVersionOption } from "./agent-arguments.ts"
import { runAgent } from "./agent.ts"
import { readTrustedOperator, type TrustedOperator } from "./operator-tls.ts"

type Environment = ReadonlyMap<string, string>

/** The settings of an agent from its arguments and environment (agent.md §2.3, §2.4). */
interface Setup {
  readonly arguments: AgentArguments
  readonly idleTtlSecs: number
  readonly httpDetectionTimeoutSecs: number
  readonly operator: TrustedOperator | undefined
}

/** Reads a number. A malformed value is reported and the default holds, as in the real agent. */
const wholeNumber = (env: Environment, name: string, byDefault: number, log: (line: string) => void): number => {
  const text = env.get(name)
  if (text === undefined) return byDefault
  if (/^\d+$/.test(text)) return Number(text)
  log(`${name} must be a whole number of seconds, not ${JSON.stringify(text)}; ${byDefault} is used`)
  return byDefault
}

/** The setup, or the exit code with which the agent refuses; the reason is in the log. */
const setUp = (
  argv: ReadonlyArray<string>,
  env: Environment,
  log: (line: string) => void
): Result.Result<Setup, number> => {
  const parsed = parseAgentArguments(argv)
  if (Result.isFailure(parsed)) {
    log(`error: ${parsed.failure}`)
    return Result.fail(2)
  }
  const { unsupported } = parsed.success
  if (unsupported.length > 0) {
    log(`error: ${unsupported.join(", ")} is not supported by this agent`)
    return Result.fail(1)
  }
  const certificate = parsed.success.operatorCertificate ?? env.get("AGENT_OPERATOR_CERT_ENV")
  const operator = certificate === undefined ? undefined : readTrustedOperator(certificate)
  if (operator !== undefined && Result.isFailure(operator)) {
    log(`error: TLS setup failed: ${operator.failure}`)
    return Result.fail(1)
  }
  const tlsPorts = "MIRRORD_AGENT_STEAL_TLS_CONFIG"
  if (env.has(tlsPorts)) log(`${tlsPorts} is not supported by this agent: traffic with TLS is not HTTP to it`)
  return Result.succeed({
    arguments: parsed.success,
    idleTtlSecs: wholeNumber(env, "MIRRORD_AGENT_IDLE_TTL", 0, log),
    httpDetectionTimeoutSecs: wholeNumber(env, "MIRRORD_AGENT_HTTP_DETECTION_TIMEOUT", 2, log),
    operator: operator?.success
  })
}

const options = (setup: Setup) => ({
  communicationTimeoutSecs: setup.arguments.communicationTimeoutSecs,
  protocolVersion: setup.arguments.protocolVersion,
  idleTtlSecs: setup.idleTtlSecs,
  httpDetectionTimeoutSecs: setup.httpDetectionTimeoutSecs,
  targetless: setup.arguments.mode._tag === "Targetless",
  operator: setup.operator
})

const noRedirect = (): never => {
  throw new Error("a targetless agent has no incoming traffic")
}

/**
 * `npm run agent -- -l PORT -t SECS targetless`: serves this process's own environment and the machine's `/`. The other
 * modes need a container runtime that hands out {@link AgentTarget}s, as only the stand-in kubelet does (see
 * {@link agentProgram}).
 *
 * The result is the exit code, 2 for a wrong command line. Standard output gets the ready line and errors, as from the
 * real agent.
 */
export const runAgentCommand = (argv: ReadonlyArray<string>): Effect.Effect<number> =>
  Effect.suspend(() => {
    const log = (line: string): void => {
      process.stdout.write(`${line}\n`)
    }
    const env = new Map(Object.entries(process.env).map(([name, value]) => [name, value ?? ""] as const))
    const setup = setUp(argv, env, log)
    if (Result.isFailure(setup)) return Effect.succeed(setup.failure)
    const { mode, port } = setup.success.arguments
    if (mode._tag !== "Targetless") {
      const name = mode._tag.toLowerCase()
      log(`error: mode ${name} works only inside the embedded cluster; use targetless, or the real agent`)
      return Effect.succeed(1)
    }
    const target: AgentTarget = { env, root: "/", podIp: "0.0.0.0", resolve: () => undefined, redirect: noRedirect }
    return Effect.scoped(runAgent({ ...options(setup.success), target, listen: { port }, log }))
  })

/** The agent's own container, which is the target of a targetless agent. */
const ownTarget = (container: ContainerContext): AgentTarget => {
  const isOwn = (candidate: { readonly podIp: string; readonly container: string }): boolean =>
    candidate.podIp === container.podIp && candidate.container === container.containerName
  const own = container.onNode().find(isOwn)
  return {
    env: container.env,
    root: container.root,
    podIp: container.podIp,
    resolve: (own && container.target(own.containerId)?.resolve) ?? (() => undefined),
    redirect: noRedirect
  }
}

const targetOf = (mode: AgentMode, container: ContainerContext): AgentTarget | undefined => {
  switch (mode._tag) {
    case "Targetless":
      return ownTarget(container)
    case "Targeted":
      return container.target(mode.containerId)
    case "Ephemeral":
      return targetOfEphemeral(container)
  }
}

/** The container by its id if the agent got one, else the one beside which it was started. */
const targetOfEphemeral = (container: ContainerContext): AgentTarget | undefined => {
  const { podIp, targetContainerName } = container
  const id = container.env.get("MIRRORD_AGENT_EPHEMERAL_TARGET_CONTAINER_ID")
  const beside = container
    .onNode()
    .find((candidate) => candidate.podIp === podIp && candidate.container === targetContainerName)
  const target = container.target(id ?? beside?.containerId ?? "")
  // As in the real agent, its own variables are answered too, under those of the target's process.
  return target === undefined ? undefined : { ...target, env: new Map([...container.env, ...target.env]) }
}

const runInContainer = (container: ContainerContext): Effect.Effect<number, never, Scope.Scope> =>
  Effect.suspend(() => {
    // The image has a `sleep` for containers of copied targets.
    if (container.args[0] === "sleep") return Effect.andThen(Effect.sync(container.ready), Effect.never)
    const setup = setUp(container.args, container.env, container.log)
    if (Result.isFailure(setup)) return Effect.succeed(setup.failure)
    const { mode, port } = setup.success.arguments
    const target = targetOf(mode, container)
    if (target === undefined) {
      container.log(
        mode._tag === "Targeted"
          ? `error: no running container ${mode.containerId} on this node`
          : "error: mode ephemeral works only in an ephemeral container with a running target"
      )
      return Effect.succeed(1)
    }
    return runAgent({
      ...options(setup.success),
      target,
      listen: (onConnection) => container.listen(port, onConnection),
      reach: container.reach,
      log: (line) => {
        container.log(line)
        if (line.startsWith("agent ready")) container.ready()
      }
    })
  })

/**
 * The agent as the program of a container of the stand-in kubelet. It reads the real agent's arguments, `-c <container
 * id>` included.
 */
export const agentProgram: ContainerProgram = signalsReady(runInContainer)

/** {@link agentProgram} of an earlier release, as far as the protocol goes. */
export const agentProgramPlaying = (version: string): ContainerProgram =>
  signalsReady((container) => {
    const [program = "", ...rest] = container.args
    const args = program === "sleep" ? container.args : [program, protocolVersionOption, version, ...rest]
    return runInContainer({ ...container, args })
  })
