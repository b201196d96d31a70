import type { Command } from 'commander';

/** A command with the words that may follow it. */
interface Words {
  /** The names of the command and of those that it belongs to, without the program. */
  path: string;
  commands: string[];
  options: string[];
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** Returns the script with which a shell completes the commands and options of the program. */
export function completionScript(program: Command, shell: Shell): string {
  const name = program.name();
  const words = wordsOf(program, []);
  return shell === 'fish' ? fishScript(name, words) : bashScript(name, words, { isZsh: shell === 'zsh' });
}

function wordsOf(command: Command, path: string[]): Words[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command).filter((one) => one.name() !== 'help');
  const own: Words = {
    path: path.join(' '),
    commands: commands.map((one) => one.name()),
    options: help.visibleOptions(command).flatMap(({ long }) => (long ? [long] : [])),
  };
  return [own, ...commands.flatMap((one) => wordsOf(one, [...path, one.name()]))];
}

/** The words before the cursor that are commands choose the entry. zsh runs the same script by its bashcompinit. */
function bashScript(name: string, words: Words[], { isZsh }: { isZsh: boolean }): string {
  const cases = words.map(
    ({ path, commands, options }) => `    '${path}') words='${[...commands, ...options].join(' ')}' ;;`,
  );
  const known = words.filter(({ path }) => path !== '').map(({ path }) => `'${path}'`);
  return `${isZsh ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''}_${name}() {
  local at word path='' words=''
  for ((at = 1; at < COMP_CWORD; at++)); do
    word="\${COMP_WORDS[at]}"
    case "\${path:+$path }$word" in
      ${known.join('|')}) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _${name} ${name}
`;
}

function fishScript(name: string, words: Words[]): string {
  const lines = words.flatMap(({ path, commands, options }) => {
    const names = path === '' ? [] : path.split(' ');
    const seen = names.map((one) => `__fish_seen_subcommand_from ${one}`);
    const isOpen = commands.length > 0 ? [`not __fish_seen_subcommand_from ${commands.join(' ')}`] : [];
    const when = (conditions: string[]) =>
      conditions.length > 0 ? ` -n '${conditions.join('; and ')}'` : '';
    return [
      ...(commands.length > 0
        ? [`complete -c ${name} -f${when([...seen, ...isOpen])} -a '${commands.join(' ')}'`]
        : []),
      ...options.map(
        (option) => `complete -c ${name}${when([...seen, ...isOpen])} -l ${option.replace(/^--/, '')}`,
      ),
    ];
  });
  return `${lines.join('\n')}\n`;
}
