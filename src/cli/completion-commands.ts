import type { Command } from 'commander';

/** Adds `gatehouse completion`. */
export function addCompletion(program: Command, done: (code: number) => void): void {
  program
    .command('completion')
    .description('Print the script with which a shell completes commands and options.')
    .argument('<shell>', 'bash, zsh or fish')
    .addHelpText('after', COMPLETION_HELP)
    .action(async (named: string, _options, command: Command) => {
      const { completionScript, SHELLS } = await import('./completion.ts');
      const shell = SHELLS.find((one) => one === named);
      if (shell === undefined) command.error(`error: the shell must be ${SHELLS.join(', ')}, not '${named}'`);
      process.stdout.write(completionScript(program, shell));
      done(0);
    });
}

const COMPLETION_HELP = `
Examples:
  $ gatehouse completion bash > ~/.local/share/bash-completion/completions/gatehouse
  $ gatehouse completion zsh > ~/.zsh/gatehouse.zsh      # and source it in ~/.zshrc
  $ gatehouse completion fish > ~/.config/fish/completions/gatehouse.fish`;
