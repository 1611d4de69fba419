"""The plainest orders to an agent in other languages, over folded text: what an attack tries after English.

Accents are folded away, so that Spanish, German, French, Portuguese, Italian, Dutch and Polish stand without
them; Chinese, Japanese, Korean and Russian stand as they are written.
"""
# ruff: noqa: RUF001 - the letters of these languages are meant

from carrel.screen.orders.words import Form

_ZH = r"[^。！？\n]"
"""A character of the same sentence."""

_OVERRIDE = (
    Form(
        "instruccion indicacion regla ordenes directri limites restriccion todo~lo",
        r"\b(?:ignor[ae]|olvid[ae]|descarta|desobedece|no sigas"
        r"|haz caso omiso de) (?:\w+ ){0,4}?(?:instrucciones|indicaciones|reglas|ordenes"
        r"|directrices) (?:anteriores|previas|originales|del sistema|que te|de arriba|iniciales)"
        r"|\b(?:ignor[ae]|olvida) todo lo anterior"
        r"|\b(?:ignor[ae]|olvida(?:te de)?|desobedece|no sigas) tus (?:\w+ ){0,2}?(?:instrucciones|reglas"
        r"|directrices|limites|restricciones)",
    ),
    Form(
        "anweisung instruktion regel vorgabe befehl richtlinie prompt",
        r"\b(?:ignorier\w*|vergiss|vergesst|missacht\w*|verwirf|umgehe?) (?:\w+ ){0,3}?(?:vorherig"
        r"|bisherig|vorig|obig|fruher|ursprunglich|vorangehend|dein"
        r"|alle vor)\w* (?:\w+ ){0,2}?(?:anweisung|instruktion|regel|vorgabe|befehl|richtlinie|prompt)\w*"
        r"|\b(?:beacht|befolg)\w* (?:die |deine )?(?:obigen|vorherigen|bisherigen"
        r"|ursprunglichen)? ?(?:anweisungen|instruktionen|regeln|vorgaben) nicht"
        r"|\bdeine (?:anweisungen|instruktionen|regeln|vorgaben) gelten (?:\w+ )?nicht",
    ),
    Form(
        "instruction consigne regle directive ordres",
        r"\b(?:ignore[zr]?|oublie[zr]?|neglige[zr]?|outrepasse[zr]?) (?:[\w']+ ){0,3}?(?:instructions"
        r"|consignes|regles|directives|ordres) (?:precedent|anterieur|ci-dessus|d'origine|initial|du systeme"
        r"|que tu|que vous)"
        r"|\bne (?:suis|suivez|respecte[zr]?) (?:plus|pas) (?:tes|vos"
        r"|les) (?:[\w']+ ){0,2}?(?:instructions|consignes|regles)"
        r"|\b(?:tes|vos) (?:instructions|consignes|regles) ne s'appliquent"
        r"|\bne (?:tiens|tenez) (?:pas|plus|aucun) compte des (?:[\w']+ ){0,2}?(?:instructions|consignes"
        r"|regles)",
    ),
    Form(
        "instrucoes regras ordens diretrizes",
        r"\b(?:ignore|ignora|esqueca|esquece|desconsidere|desconsidera"
        r"|desobedeca) (?:\w+ ){0,3}?(?:instrucoes|regras|ordens|diretrizes) (?:anteriores|acima|originais"
        r"|previas|do sistema|iniciais)"
        r"|\b(?:ignore|ignora|esqueca|desconsidere) (?:as )?suas (?:\w+ ){0,2}?(?:instrucoes|regras"
        r"|diretrizes)"
        r"|\bsuas (?:instrucoes|regras|diretrizes) nao (?:valem|se aplicam)",
    ),
    Form(
        "istruzioni regole direttive instructies regels opdrachten instrukcje polecenia zasady",
        r"\b(?:ignora|dimentica|trascura) (?:\w+ ){0,3}?(?:istruzioni|regole|direttive) (?:precedent"
        r"|iniziali|originali|di sistema)"
        r"|\b(?:negeer|vergeet) (?:\w+ ){0,2}?(?:voorgaande|vorige|eerdere|bovenstaande|je"
        r"|jouw) (?:\w+ )?(?:instructies|regels|opdrachten)"
        r"|\bzignoruj (?:\w+ ){0,3}?(?:instrukcje|polecenia|zasady)",
    ),
    Form(
        "инструкци правил указани команд",
        r"(?:игнорируй|забудь|не следуй)\w* (?:\w+ ){0,3}?(?:инструкци|правил|указани|команд)",
    ),
    Form(
        "忽略 无视 無視 忘记 忘掉 忘記 不要遵 抛弃 绕过 不适用 无效 作废",
        rf"(?:忽略|无视|無視|忘记|忘掉|忘記|不要遵守|不要遵循|抛弃|绕过){_ZH}{{0,12}}(?:指令|指示|规则|規則"
        r"|提示|命令|设定|限制|要求)"
        rf"|你的(?:规则|指令|限制|设定){_ZH}{{0,8}}(?:不适用|无效|作废)",
    ),
    Form(
        "無視 忘れ 破棄 従わない 適用され 無効",
        rf"(?:以前|これまで|今まで|前|上記|上|先|すべて|全て|元|最初)の{_ZH}{{0,10}}(?:指示|命令|ルール|規則"
        rf"|プロンプト|指令){_ZH}{{0,8}}(?:無視|忘れ|破棄|従わない)"
        rf"|あなたの(?:ルール|指示|制限){_ZH}{{0,10}}(?:適用されま|適用されない|無効)",
    ),
    Form(
        "무시 잊",
        r"(?:이전|위|앞|기존)[^.!?\n]{0,10}(?:지시|명령|규칙|지침|프롬프트)[^.!?\n]{0,8}(?:무시|잊)",
    ),
)

_ROLE_MARKER = (
    Form(
        "system sistema systeme",
        r"\bsystem(?:nachricht|meldung|anweisung) ?: ?(?:du|sie|ab jetzt|ignoriere|der assistent)"
        r"|\bmensaje del sistema ?:"
        r"|\bmessage (?:du )?systeme ?:"
        r"|\bmensagem do sistema ?:",
    ),
    Form(
        "系统 系統 システム",
        r"(?:系统|系統)(?:消息|提示|指令|命令|通知) ?:"
        r"|システム(?:メッセージ|プロンプト|指示|命令) ?:",
    ),
)

_DISCLOSURE = (
    Form(
        "prompt instruccion reglas",
        r"\b(?:muestra|muestrame|revela|imprime|repite|dime|dame|ensename) (?:\w+ ){0,4}?(?:tu"
        r"|tus) (?:\w+ ){0,2}?(?:prompt|instrucciones|reglas secretas)",
    ),
    Form(
        "prompt anweisung instruktion vorgaben",
        r"\b(?:zeig\w*|verrat\w*|gib|nenn\w*|druck\w*|wiederhol\w*"
        r"|sag\w*) (?:mir )?(?:\w+ ){0,2}?dein\w* (?:\w+ ){0,2}?(?:system-?prompt|anweisungen"
        r"|instruktionen|vorgaben)",
    ),
    Form(
        "prompt instructions",
        r"\b(?:revele[zr]?|affiche[zr]?|montre[zr]?|repete[zr]?|donne[zr]?|imprime[zr]?)(?: "
        r"|-moi )(?:[\w']+ ){0,2}?(?:ton|tes|votre|vos) (?:[\w']+ ){0,2}?(?:prompt|instructions)",
    ),
    Form(
        "prompt instrucoes",
        r"\b(?:mostre|revele|imprima|repita|diga|exiba)(?:-me)? (?:\w+ ){0,2}?(?:seu|seus|sua|suas|teu"
        r"|tuas) (?:\w+ ){0,2}?(?:prompt|instrucoes)",
    ),
    Form(
        "提示 指令 隐藏",
        rf"(?:输出|显示|告诉我|透露|打印|重复|泄露|展示|说出){_ZH}{{0,12}}(?:系统提示|系统指令|隐藏指令"
        r"|隐藏的|初始提示|提示词|秘密指令)",
    ),
    Form(
        "プロンプト 指示",
        rf"(?:システムプロンプト|秘密の指示|隠された指示|初期プロンプト|内部の指示){_ZH}{{0,10}}(?:表示|教え"
        r"|出力|見せ|公開|明か|繰り返)",
    ),
    Form(
        "промпт инструкци сообщени",
        r"(?:покажи|раскрой|выведи|повтори) (?:\w+ ){0,3}?(?:системн\w* (?:промпт|инструкци|сообщени)"
        r"|свои инструкции)",
    ),
)

_CONCEALMENT = (
    Form(
        "usuario dueno instruccion nadie mensaje",
        r"\bno (?:se )?(?:lo|la|le|les)? ?(?:digas|cuentes|informes|menciones) (?:\w+ ){0,3}?(?:al usuario"
        r"|al dueno|esta instruccion|estas instrucciones|esto a nadie|este mensaje)",
    ),
    Form(
        "nutzer anwender besitzer user anweisung nachricht regel instruktion notiz",
        r"\b(?:sag|sage|erzahl\w*|verrat\w*|teile) (?:es )?(?:dem|der|den) (?:nutzer|benutzer|anwender"
        r"|besitzer|user)\w* (?:\w+ )?(?:nichts|nicht|davon nichts)"
        r"|\b(?:erwahne?|nenne|verrate) diese\w* (?:anweisung|nachricht|regel|instruktion"
        r"|notiz)\w* (?:niemals|nie|nicht|niemandem|keinesfalls)",
    ),
    Form(
        "utilisateur proprietaire consigne instruction message",
        r"\bne (?:le |la |les |l')?(?:dis|dites|mentionne[zr]?|revele[zr]?"
        r"|parle[zr]?) (?:[\w']+ ){0,4}?(?:l'utilisateur|au proprietaire|cette consigne|cette instruction"
        r"|ces instructions|ce message)",
    ),
    Form(
        "usuario dono utilizador instruc ninguem",
        r"\bnao (?:conte|diga|mencione|informe|revele) (?:\w+ ){0,3}?(?:ao usuario|ao dono|ao utilizador"
        r"|esta instrucao|essa instrucao|estas instrucoes|isso a ninguem)",
    ),
    Form(
        "不要 别 不得 切勿 不能",
        rf"(?:不要|别|不得|切勿|不能){_ZH}{{0,4}}(?:告诉|告知|通知|透露给)(?:用户|使用者|主人|任何人)"
        rf"|(?:不要|别|不得|切勿){_ZH}{{0,8}}(?:提起|提及|透露|说出){_ZH}{{0,4}}(?:这条|这个|该|此)(?:指令"
        r"|规则|消息|提示)",
    ),
    Form(
        "ユーザー 指示 命令 メッセージ ルール",
        rf"ユーザー(?:に|には){_ZH}{{0,6}}(?:言わない|伝えない|知らせない|教えない|話さない)"
        rf"|(?:この|これらの)(?:指示|命令|メッセージ|ルール){_ZH}{{0,12}}(?:話さない|言わない|明かさない"
        r"|触れない|秘密)",
    ),
    Form("пользовател владельц", r"не (?:говори|сообщай|рассказывай) (?:об этом )?(?:пользовател|владельц)"),
)

_STANDING_ORDER = (
    Form(
        "ahora momento",
        r"\b(?:de|desde|a partir de) (?:ahora|este momento)(?: en adelante)?,? (?:tu )?(?:eres|debes"
        r"|tienes que|seras|solo|responderas|actuaras)\b",
    ),
    Form(
        "jetzt sofort nun kunftig",
        r"\b(?:ab (?:jetzt|sofort|nun)|von (?:nun|jetzt) an|kunftig)\b,? (?:bist|musst|sollst|wirst|darfst"
        r"|antwortest|empfiehlst|gehorchst) du\b",
    ),
    Form(
        "maintenant aujourd desormais dorenavant",
        r"\b(?:a partir de maintenant|a partir d'aujourd'hui|desormais|dorenavant)\b,? (?:tu (?:es|dois|vas"
        r"|seras)|vous (?:etes|devez|allez|serez))\b",
    ),
    Form(
        "agora daqui",
        r"\b(?:a partir de agora|de agora em diante|daqui em diante)\b,? (?:voce|tu) (?:e|es|deve|deves|sera"
        r"|vai|so)\b",
    ),
    Form(
        "从 今后 以后",
        r"(?:从现在开始|从现在起|从今以后|今后|以后)[，, ]{0,2}你(?:是|必须|要|应该|应当|只能|将|不再"
        r"|不能)",
    ),
    Form(
        "今後 これから 今から 以降",
        rf"(?:今後|これから|今から|以降)[、, は]{{0,3}}あなたは{_ZH}{{0,40}}(?:です|しなければ|ならない|べき"
        r"|こと|ください|なります)",
    ),
    Form(
        "момента отныне теперь poi vanaf",
        r"(?:с этого момента|отныне|теперь) ты (?:должен|должна|обязан|будешь|всегда|больше не)"
        r"|\bd'ora in poi (?:sei|devi|sarai)\b"
        r"|\bvanaf nu (?:ben|moet|zul) (?:je|jij)\b",
    ),
)

_DELAYED_TRIGGER = (
    Form(
        "pregunt mencion ~pid ~dig habl",
        r"\b(?:cuando|si|cada vez que) (?:el usuario|alguien|te|tu usuario) (?:\w+ ){0,2}?(?:pregunt\w*"
        r"|mencion\w*|pid\w*|dig\w*|habl\w*)[^.!?]{0,80}?[, ](?:entonces )?(?:di|responde|recomienda"
        r"|contesta|envia|ejecuta|dile|sugiere|afirma)\b",
    ),
    Form(
        "~wenn~ ~falls~ sobald",
        r"\b(?:wenn|falls|sobald|immer wenn) (?:der|die|ein|dein|jemand|du)(?: (?:nutzer|benutzer|anwender"
        r"|user|besitzer)\w*)?\b[^.!?]{0,60}?(?:fragt|erwahnt|gefragt wirst|sagt|nennt|anspricht"
        r"|wissen will)\b[^.!?]{0,20}?[, ](?:dann )?(?:sag|sage|antworte|empfiehl|empfehle|behaupte|sende"
        r"|nenne|fuhre|schicke|erklare)\b",
    ),
    Form(
        "utilisateur on~te on~vous quelqu",
        r"\b(?:quand|si|lorsque|chaque fois que) (?:l'utilisateur|on te|on vous"
        r"|quelqu'un)\b[^.!?]{0,60}?(?:demand\w*|parl\w*|mentionn\w*|interrog\w*"
        r"|dit)\b[^.!?]{0,60}?[, ](?:alors )?(?:dis|reponds|recommande|affirme|envoie|suggere|execute"
        r"|dites|repondez|recommandez)\b",
    ),
    Form(
        "pergunt mencion pedir falar disser",
        r"\b(?:quando|se|sempre que) (?:o usuario |o utilizador |alguem |te "
        r"|lhe )?(?:\w+ ){0,1}?(?:pergunt\w*|mencion\w*|pedir\w*|falar\w*"
        r"|disser\w*)[^.!?]{0,80}?[, ](?:entao )?(?:diga|responda|recomende|afirme|envie|sugira"
        r"|execute)\b",
    ),
    Form(
        "当 如果 每当 一旦 若 每次",
        rf"(?:当|如果|每当|一旦|若|每次){_ZH}{{0,6}}(?:用户|有人|被|别人|对方){_ZH}{{0,20}}(?:问|询问|提到|说"
        rf"|提及|要求|谈到){_ZH}{{0,20}}[，, ](?:就|则|请|你|必须|要|总是|立即)?{_ZH}{{0,3}}(?:说|回答|推荐"
        r"|告诉|回复|执行|发送|声称|答)",
    ),
    Form(
        "たら た場合 たとき れば た時",
        rf"(?:ユーザー|誰か|利用者)が{_ZH}{{0,24}}(?:尋ね|聞い|質問し|言っ|頼ん|訊い|言及し)(?:たら|た場合"
        rf"|たとき|れば|た時){_ZH}{{0,30}}(?:勧め|答え|言っ|伝え|送っ|実行|返答|紹介)"
        rf"|(?:聞かれ|尋ねられ|質問され|訊かれ)(?:たら|た場合|たとき|れば|た時){_ZH}{{0,30}}(?:答え|言っ|伝え"
        r"|勧め|返答|主張)",
    ),
    Form(
        "когда если",
        r"(?:когда|если) (?:пользовател\w*|тебя|кто-то) (?:\w+ ){0,2}?(?:спрос\w*|спраш\w*|упомян\w*"
        r"|скаж\w*)[^.!?]{0,60}?[, ](?:скажи|отвечай|ответь|рекомендуй|посоветуй)\b",
    ),
)

_EXFILTRATION = (
    Form(
        "historial conversacion contrasenas claves secretos credenciales memoria",
        r"\b(?:envia|manda|sube|reenvia|publica)\b [^.!?]{0,40}?(?:historial|conversacion|contrasenas"
        r"|claves|secretos|credenciales|memoria)\b[^!?]{0,40}?\b(?:a|hacia|en) (?:https?:|\S+@)",
    ),
    Form(
        "verlauf unterhaltung passworter schlussel geheimnisse zugangsdaten gedachtnis",
        r"\b(?:sende|schicke|lade|ubertrage|leite|poste)\b [^.!?]{0,40}?(?:chatverlauf|verlauf"
        r"|unterhaltung|passworter|schlussel|geheimnisse|zugangsdaten|gedachtnis)\b[^!?]{0,40}?\b(?:an|auf"
        r"|nach|zu) (?:https?:|\S+@)",
    ),
    Form(
        "historique conversation passe cles secrets identifiants memoire",
        r"\b(?:envoie|envoyez|transfere|publie|poste|televerse)\b [^.!?]{0,40}?(?:historique|conversation"
        r"|mots de passe|cles|secrets|identifiants|memoire)\b[^!?]{0,40}?\b(?:a|vers|sur) (?:https?:"
        r"|\S+@)",
    ),
    Form(
        "historico conversa senhas chaves segredos credenciais memoria",
        r"\b(?:envie|mande|encaminhe|publique|carregue)\b [^.!?]{0,40}?(?:historico|conversa|senhas|chaves"
        r"|segredos|credenciais|memoria)\b[^!?]{0,40}?\b(?:para|a|em) (?:https?:|\S+@)",
    ),
    Form(
        "记录 对话 会话 密码 密钥 凭证 记忆",
        rf"(?:聊天记录|对话|会话|密码|密钥|历史记录|凭证|记忆){_ZH}{{0,12}}(?:发送|上传|发|转发|提交|传)(?:到"
        rf"|给|至){_ZH}{{0,6}}(?:https?:|\S+@)",
    ),
    Form(
        "会話 履歴 パスワード 鍵 チャット 記憶",
        rf"(?:会話|履歴|パスワード|秘密鍵|チャット|記憶|鍵){_ZH}{{0,12}}(?:https?:|[\w.]+@)\S{{0,80}} ?(?:に"
        rf"|へ){_ZH}{{0,6}}(?:送信|送っ|アップロード|転送|投稿)",
    ),
)

ABROAD: dict[str, tuple[Form, ...]] = {
    "override": _OVERRIDE,
    "role_marker": _ROLE_MARKER,
    "disclosure": _DISCLOSURE,
    "concealment": _CONCEALMENT,
    "standing_order": _STANDING_ORDER,
    "delayed_trigger": _DELAYED_TRIGGER,
    "exfiltration": _EXFILTRATION,
}
