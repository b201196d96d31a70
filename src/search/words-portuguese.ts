import type { Language } from './lexicon.ts';

/** Portuguese words for the things and the work of apps. A word that ends with `*` stands for all words that begin so. */
export const PORTUGUESE: Language = {
  things: `
customer: cliente*, comprador*, consumidor*, fregues*
supplier: fornecedor*, vendedor*
contact: contato*, contacto*, pessoa*, lista de enderecos
company: empresa*, companhia*, organizacao*, firma
user: usuario*, utilizador*, membro*, funcionari*, colega*, equipe*, equipa*
order: pedido*, encomenda*, compra, compras, venda, vendas
item: produto*, artigo*, mercadoria*, catalogo*
variant: variante*, variac*, tamanho*
stock: estoque*, inventario*, stock*, quantidade*, restam, resta, sobr*
price: preco*, tarifa*, custo*
shop: loja*
location: local, locais, localizac*, endereco*, filial*
shipment: envio*, remessa*, entrega*, pacote*, encomenda*, enviado*, despach*, rastreamento*, rastreio
invoice: fatura*, nota fiscal, notas fiscais
bill: despesa*, conta a pagar, contas a pagar, gasto*
payment: pagamento*, paga, pagas, pago, pagos, pagar*, cobranc*, transac*, recebimento*
refund: reembols*, estorn*, devolu*, devolv*, dinheiro de volta
subscription: assinatura*, assinante*, subscric*, mensalidade*
estimate: orcamento*, cotac*, proposta*
balance: saldo*, dinheiro
report: relatorio*, resumo*, estatistica*
profit: lucro*, prejuizo*, receita*, faturamento*, resultado*, ganhamos, negocios, vao os negocios
balance sheet: balanco*
overdue: vencid*, atrasad*, deve, devem, pendente*, em aberto, inadimpl*, nao … pag*
tax: imposto*, iva, icms, taxa*
bank: banco*, bancari*
deal: negocio*, oportunidade*, venda
ticket: ticket*, chamado*, caso, casos, reclamac*, suporte, atendimento
lead: prospect*, lead*, cliente potencial
pipeline: pipeline*, funil*, etapa*
task: tarefa*, lembrete*, pendenc*, tenho hoje, para hoje, tenho para hoje, meu dia, que fazer
note: nota*, anotac*
comment: comentario*, coment*, observac*
message: mensagem*, mensagens, escreveu, escrev*, diga*, avis*, conte, notific*, inform*, dizer, comuniqu*, comunic*, pergunt*, anunci*, lembr*, publiq*, public*, me escrev*
mail: e mail*, email*, mail*, correio*, caixa de entrada, carta*
thread: conversa*, discuss*
channel: canal, canais, sala*, grupo*
attachment: anexo*, anexad*
label: etiqueta*, marcador*, rotulo*
category: categoria*
draft: rascunho*
trash: lixeira*, lixo*
event: evento*, compromisso*, reuniao*, reunioes, encontro*, tenho hoje, para hoje, tenho para hoje, meu dia, que fazer
meeting: reuniao*, reunioes, videoconferenc*, conferenc*, videochamada*
webinar: webinar*
participant: participant*, particip*, convidado*, presente*
registrant: inscrit*, inscric*, inscrev*, registrad*
recording: gravac*
invitation: convite*, convid*
calendar: agenda, agendas, calendario*
free: livre*, disponi*, ocupad*
absence: ausen*, ferias, resposta automatica, fora do escritorio
file: arquivo*, ficheiro*, documento*, planilha*, apresentac*, contrato*
folder: pasta*, diretorio*
storage: armazenamento*, espaco*
permission: permiss*, acesso*, direito*
link: link*
version: versao*, versoes, revis*
page: pagina*, wiki*
table: tabela*, base de dados, banco de dados
repository: repositorio*, projeto*
issue: issue*, erro*, bug*, problema*, defeito*
pull request: pull request*, merge request*
branch: ramo*, branch*
commit: commit*
release: versao*, lancamento*, publicac*
build: build*, compilac*, teste*, quebrou, quebrad*, falhou, falharam
field: campo*, coluna*, propriedade*
coupon: cupom, cupons, desconto*, vale*
review: revis*, revisor*
notification: notificac*
campaign: campanha*
template: modelo*
best seller: mais vendid*, vende mais, vendem mais
`,
  work: `
new: nov*, outro, outra
read: mostr*, ver, veja, vej*, leia*, ler, consult*, o que, que ha, qual, quais, quem, onde, quando, como, quant*, por que, porque, diga me, me diga, verifi*, confir*, obt*, pega, pegue, pegar, traga, trazer, traz, preciso, olh*, ha, me escrev*
list: list*, tod*, ultim*, recent*, mostr*
search: busc*, procur*, encontr*, localiz*, pesquis*, ache, achar
create: cri*, adicion*, acrescent*, deixe, deixar, abr*, faca, fazer, faz, escrev*, registr*, cadastr*, marq*, marca*, coloc*, coloqu*, emit*, prepar*, gera*, inscrev*
update: alter*, mud*, atualiz*, edit*, modific*, corrig*, renome*, mova, mover, atribu*, fech*, marc*, aument*, diminu*, ajust*, remarc*, adi*, ativ*, desativ*
delete: apag*, exclu*, delet*, remov*, elimin*
cancel: cancel*, anul*, desmarc*, encerr*, interromp*, parar, pare
send: envi*, mand*, avis*, notific*, inform*, diga*, dizer, conte, conta a, public*, escrev*, comuniqu*, comunic*, pergunt*, lembr*, anunci*, publiq*, anunci*
forward: encaminh*, reencaminh*, repass*
reply: respond*, respost*
restore: restaur*, recuper*, desfaz*
download: baix*, descarreg*, export*
upload: suba, subir, sub*, carreg*, import*, envi* … arquivo
share: compartilh*, partilh*, dar acesso, de acesso
revoke: nao … mais, revog*, tir* … acesso, remov* … acesso
copy: copi*, duplic*
run: execut*, inici*, rode, rodar, dispar*, lanc*
retry: de novo, novamente, tent* … novamente, reexecut*
move: mova, mover, mov*
archive: arquivar, arquive
merge: mescl*, fundir, funda
schedule: agend*, marq*, marca*, program*, planej*
invite: convid*
approve: aprov*, aceit*
review: solicit*
refund: reembols*, estorn*, devolv*
comment: coment*
`,
  empty:
    'o a os as um uma uns umas de do da dos das no na nos nas em ao aos com para por para pelo pela sem sobre e ou se esta este estao estes isto isso essa esse ' +
    'aquele meu minha meus minhas seu sua seus suas nosso nossa nossos nossas eu nos me te lhe ele ela eles elas que mas mais muito ja ainda tambem so apenas hoje ontem ' +
    'amanha segunda terca quarta quinta sexta sabado domingo semana mes ano favor obrigado foi foram era ser sao tem tenho ter temos quer quero vou vai chamado chamada ' +
    'chamados chamadas alguem depois lido lidos lida lidas',
  not: 'nao sem nenhum nenhuma nunca ninguem',
  and: 'e',
  further: 'depois entao',
  but: 'mas so apenas',
  content: 'que sobre porque',
  ask: 'quem, qual, quais, quando, onde, por que, quanto, quantos, quanta, quantas, ha, houve, foi, foram',
  can: 'pode podes poderia posso podemos deve',
  wish: 'quero queremos deve devem tem preciso precisamos',
  state: /(?:ad|id|feit|escrit)[oa]s?$/,
  before: 'o a os as um uma meu minha meus minhas nosso nossa todos todas',
};
