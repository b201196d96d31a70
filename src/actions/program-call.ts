/** A program that makes a call. */
export interface ProgramCall {
  programId: string;
  /** Gets the id of the execution before the call begins. */
  onExecution(executionId: string): void;
}
