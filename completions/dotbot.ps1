# Completion of dotbot for PowerShell 5.1 and newer.
#   dotbot completion powershell --install     or     dotbot completion powershell | Out-String | Invoke-Expression

Register-ArgumentCompleter -Native -CommandName dotbot, dotbot.exe -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $text = { param($element) if ($null -ne $element.Value -and $element.Value -is [string]) { $element.Value } else { $element.Extent.Text } }
    $before = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { & $text $_ })
    $current = $commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.StartOffset -lt $cursorPosition -and $_.Extent.EndOffset -ge $cursorPosition } | Select-Object -First 1
    $word = ''
    if ($null -ne $current) {
        $whole = & $text $current
        # As far as the cursor; what stands behind it is in the extent alone, quotes included.
        $word = $whole.Substring(0, [Math]::Max(0, $whole.Length - ($current.Extent.EndOffset - $cursorPosition)))
    }

    $program = Get-Command -Name dotbot -CommandType Application -TotalCount 1 -ErrorAction SilentlyContinue
    if ($null -eq $program) { return }
    $rows = @(& $program __complete powershell '--' @before "=$word" 2>$null)
    if ($rows.Count -eq 0) { return }
    $head = $rows[0].Split("`t")
    if ($head[0] -ne 'words') {
        # Paths are PowerShell's own business where nothing stands in front of them.
        if ($head[1] -eq '') { return }
        [System.Management.Automation.CompletionCompleters]::CompleteFilename($head[2]) | ForEach-Object {
            [System.Management.Automation.CompletionResult]::new($head[1] + $_.CompletionText, $_.ListItemText, $_.ResultType, $_.ToolTip)
        }
        return
    }
    if ($rows.Count -eq 1) { return '' }
    $rows | Select-Object -Skip 1 | ForEach-Object {
        $value, $description = $_.Split("`t", 2)
        if (-not $description) { $description = $value }
        [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $description)
    }
}
