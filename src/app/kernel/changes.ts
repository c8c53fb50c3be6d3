/**
 * The former name of the SessionNotifier, for files that are being rewritten at the moment. Goes with its last import.
 */

export { SessionNotifier as Changes } from "./session-notifier.ts"
