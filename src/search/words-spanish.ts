import type { Language } from './lexicon.ts';

/** Spanish words for the things and the work of apps. A word that ends with `*` stands for all words that begin so. */
export const SPANISH: Language = {
  things: `
customer: cliente*, clienta*, comprador*, consumidor*
supplier: proveedor*, vendedor*
contact: contacto*, persona*, gente, libreta de direcciones
company: empresa*, compania*, sociedad*, organizacion*
user: usuario*, miembro*, empleado*, companero*, equipo*
order: pedido*, orden, ordenes, compra, compras, encargo*, venta, ventas
item: producto*, articulo*, mercancia*, catalogo*
variant: variante*, talla*
stock: existencia*, inventario*, stock*, cantidad*, quedan, queda, almacen*
price: precio*, tarifa*, coste*, costo*
shop: tienda*, negocio
location: ubicacion*, lugar*, direccion*, sucursal*, local
shipment: envio*, paquete*, entrega*, despach*, enviado*, seguimiento
invoice: factura*
bill: gasto*, factura de proveedor
payment: pago*, pagad*, pagar*, cobro*, cargo*, transaccion*, abonad*
refund: reembols*, devol*, devuelv*, devuelt*, dinero de vuelta
subscription: suscripcion*, suscrip*, abonado*, membresia*
estimate: presupuesto*, cotizacion*, oferta*
balance: saldo*, dinero, fondos
report: informe*, reporte*, resumen*, estadistica*
profit: ganancia*, perdida*, beneficio*, ingreso*, resultado*, ganamos, ganado, negocio, facturacion
balance sheet: balance
overdue: vencid*, atrasad*, debe, deben, impagad*, pendiente*, moros*, adeud*
tax: impuesto*, iva
bank: banco*, bancari*
deal: negocio, negocio*, oportunidad*, trato*, venta
ticket: ticket*, caso, casos, incidencia*, queja*, reclamacion*, soporte
lead: prospecto*, cliente potencial, clientes potenciales, lead*
pipeline: pipeline*, embudo*, etapa*
task: tarea*, recordatorio*, pendiente*, tengo hoy, hay hoy, mi dia, para hoy, que hacer
note: nota*, apunte*
comment: comentario*, coment*, observacion*
message: mensaje*, escrito, escribe*, escribi*, di, dile, diles, avis*, notific*, inform*, diga*, hazle saber, hacer saber, comunic*, pregunt*, public*, me ha escrito, me han escrito, me escrib*
mail: correo*, mail*, email*, e mail*, bandeja de entrada, carta*
thread: conversacion*, hilo*, discusion*
channel: canal, canales, sala*, grupo*
attachment: adjunto*, archivo adjunto
label: etiqueta*
category: categoria*
draft: borrador*
trash: papelera*, basura
event: evento*, cita*, reunion*, compromiso*, tengo hoy, hay hoy, mi dia, para hoy, que hacer
meeting: reunion*, videollamada*, videoconferencia*, conferencia*, junta, juntas
webinar: seminario*, webinar*
participant: participant*, particip*, asist*, invitado*
registrant: inscrit*, inscrip*, inscrib*, registrad*
recording: grabacion*
invitation: invitacion*, invit*
calendar: calendario*, agenda
free: libre*, disponib*, ocupad*
absence: ausen*, vacacion*, respuesta automatica, fuera de la oficina
file: archivo*, fichero*, documento*, hoja*, presentacion*, contrato*
folder: carpeta*, directorio*
storage: almacenamiento*, espacio*
permission: permiso*, acceso*, derecho*
link: enlace*, vinculo*
version: version*, revision*
page: pagina*, wiki*
table: tabla*, base de datos
repository: repositorio*, proyecto*
issue: incidencia*, error*, fallo*, bug*, problema*, issue*
pull request: solicitud de fusion, solicitudes de fusion, pull request*, merge request*, solicitud de extraccion
branch: rama*
commit: commit*
release: version*, publicacion*, lanzamiento*
build: compilacion*, build*, prueba*, fallo, fallaron, roto
field: campo*, columna*, propiedad*
coupon: cupon*, descuento*, vale*
notification: notificacion*
campaign: campana*
template: plantilla*
best seller: mas se vende, mas vendid*, se vende mas, vende mas
`,
  work: `
new: nuev*, otro, otra
read: muestr*, mostrar*, ver, mira*, lee, leer, leeme, ensena*, consult*, que hay, que tengo, que es, que archivos, cual, cuales, quien, quienes, donde, cuando, como, cuant*, por que, dime, dame, revis*, comprueb*, comprob*, obten*, toma, tomar, coge, coger, trae, traer, traeme, saca, sacame, necesito, hay, me ha escrito, me han escrito, me escrib*
list: list*, tod*, ultim*, recient*, muestr*, mostrar*
search: busca*, busque*, encuentr*, encontr*, localiz*
create: crea*, cree*, anad*, agreg*, deja, dejar, deje, abr*, haz, hacer, hazme, escrib*, registr*, pon, poner, ponme, redact*, emit*, programa*, program*, prepar*, inscrib*, genera*, da de alta, dar de alta
update: dame por, da por, dar por, cambi*, modific*, actualiz*, edit*, corrig*, correg*, renombr*, mueve*, mover*, asign*, cierr*, cerrar*, marc*, sub* … precio, baj* … precio, ajust*, reprogram*, aplaz*, activ*, desactiv*
delete: borr*, elimin*, quit*, suprim*
cancel: cancel*, anul*, deten*, termin*, no habra, suspend*
send: envi*, mand*, avis*, notific*, inform*, dile, diles, di, decir*, public*, escrib*, hazle saber, hacer saber, comunic*, pregunt*, record*
forward: reenvi*
reply: respond*, contest*, respuesta*
restore: restaur*, recuper*, deshac*
download: descarg*, baja, bajar, baje, export*
upload: sube*, subir*, carg*, import*
share: compart*, comparte*, da* … acceso
revoke: ya no, revoc*, quit* … acceso, dejar de
copy: copi*, duplic*
run: ejecut*, lanz*, inici*, arranc*
retry: reintent*, de nuevo, otra vez
move: mueve*, mover*, traslad*
archive: archivar*, archiva
merge: fusion*
schedule: programa*, program*, planific*, agend*, organiz*, fija*
invite: invit*
approve: aprob*, aprueb*, acept*
refund: reembols*, devolv*, devuelv*, devuelt*
comment: coment*
`,
  empty:
    'el la los las lo un una unos unas de del a al y e o u en con por para sin tres sobre desde hasta es son esta estan este esta estos estas ese esa eso esto ' +
    'mi mis tu tus su sus nuestro nuestra nuestros nuestras yo nos me te se le les que si pero mas muy ya aun todavia tambien solo hoy ayer manana ' +
    'lunes martes miercoles jueves viernes sabado domingo semana mes ano favor gracias ha han he hemos ser fue era llamado llamada llamados llamadas alguien ella final ' +
    'tengo tiene tienen tenemos quiere quiero leido leidos leida leidas',
  not: 'no sin ningun ninguna nunca nadie',
  and: 'y',
  further: 'luego despues entonces',
  but: 'sino solo pero',
  content: 'que sobre porque',
  ask: 'quien, quienes, cual, cuales, cuando, donde, por que, cuanto, cuantos, cuanta, cuantas, hay, ha, han',
  can: 'puedes puede podrias podria puedo podemos debo debe',
  wish: 'quiero queremos debe deben tiene necesito necesitamos',
  state: /(?:ad|id|hech|escrit)[oa]s?$/,
  before: 'el la los las un una mi mis nuestro nuestra todos todas',
};
