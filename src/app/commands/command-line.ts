/**
 * How the command line speaks: a mistake comes first and in short, and the help of a command has its own flags alone.
 *
 * Not here: the commands and their flags (braid.ts).
 */

import { Console, Effect, Layer } from "effect"
import { CliConfig, CliOutput, GlobalFlag } from "effect/cli"
import { cleanText, textLimits } from "../../domain/clean-text.ts"

const formatter = CliOutput.defaultFormatter({ globalFlags: "none" })

/** A mistake, and one line that leads further; the whole help would hide it. */
const told = (errors: ReadonlyArray<{ readonly message: string }>, path: ReadonlyArray<string>): string =>
  [
    ...errors.map(({ message }) => `braid: ${cleanText(message.replaceAll(/\s+/gu, " "), textLimits.message)}`),
    `fix: ${path.join(" ")} --help lists what there is.`
  ].join("\n")

const presenter: typeof CliOutput.defaultPresenter = {
  present: (event) =>
    event._tag === "InvalidInvocation"
      ? Console.error(told(event.errors, event.commandPath))
      : Effect.provideService(CliOutput.defaultPresenter.present(event), CliOutput.Formatter, formatter)
}

export const commandLine = Layer.mergeAll(
  CliOutput.layerPresenter(presenter),
  CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
)
